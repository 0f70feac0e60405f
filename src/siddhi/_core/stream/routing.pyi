from typing import TypeAlias, final

from typing_extensions import Self

from siddhi._core.record.event import Layout
from siddhi._core.runtime.operator import Sleeper, Wakes

_Entries: TypeAlias = tuple[tuple[int, bool | int | str | None, int, bool, int | float, int | float], ...]

@final
class Dispatch(Wakes):
    @property
    def positions(self) -> tuple[int, ...]: ...
    @property
    def n_filed(self) -> int: ...
    @property
    def n_receivers(self) -> int: ...
    def __new__(
        cls,
        layout: Layout,
        filings: list[_Entries | None],
        sleepers: list[Sleeper | None] | None = None,
    ) -> Self: ...
    def insert(self, layout: Layout, position: int, entries: _Entries | None) -> bool: ...
    def remove(self, position: int, entries: _Entries | None) -> bool: ...
