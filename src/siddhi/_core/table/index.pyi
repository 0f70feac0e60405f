from typing import final

from typing_extensions import Self

from siddhi._core.record.event import Layout

@final
class ValueIndex:
    def __new__(cls, layout: Layout, position: int) -> Self: ...
    @property
    def position(self) -> int: ...
    def __len__(self) -> int: ...
