from typing import final

from typing_extensions import Self

from siddhi._core.record.event import Layout

@final
class Dispatch:
    @property
    def position(self) -> int: ...
    @property
    def n_guarded(self) -> int: ...
    def __new__(cls, layout: Layout, position: int, guards: list[bool | int | str | None]) -> Self: ...
