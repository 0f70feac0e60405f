from collections.abc import Iterable
from typing import Any, Generic, TypeVar, final

from siddhi._core.record.event import Layout
from siddhi._core.record.user_event import Event

_Row = TypeVar("_Row")

@final
class TypedRowMaker(Generic[_Row]):
    def __init__(self, what: str, layout: Layout, kind: type[_Row]) -> None: ...
    @property
    def kind(self) -> type[_Row]: ...
    @property
    def layout(self) -> Layout: ...
    def rows_of(self, events: Iterable[Event]) -> list[_Row]: ...
    def rows_of_values(self, rows: Iterable[tuple[Any, ...]]) -> list[_Row]: ...
