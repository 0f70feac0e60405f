from collections.abc import Iterable, Sequence
from typing import Any, final

from typing_extensions import Self

from siddhi._core.record.event import EventPool, Layout
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.key_limit import KeyLimit
from siddhi._core.runtime.operator import Processor
from siddhi._core.table.index import ValueIndex

@final
class Table:
    def __new__(
        cls,
        app: AppContext,
        id: str,
        pool: EventPool,
        layout: Layout,
        primary_key: tuple[int, ...],
        indexes: tuple[int, ...] = (),
    ) -> Self: ...
    @property
    def app(self) -> AppContext: ...
    @property
    def id(self) -> str: ...
    @property
    def pool(self) -> EventPool: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def primary_key(self) -> tuple[int, ...]: ...
    @property
    def size(self) -> int: ...
    @property
    def refused(self) -> int: ...
    quiet: bool
    limit: KeyLimit | None
    def __len__(self) -> int: ...
    def fill(self, rows: Iterable[Sequence[Any]]) -> None: ...
    def index(self, position: int, sorted: bool = False) -> ValueIndex: ...
    def row_values(self) -> list[tuple[Any, ...]]: ...

class TableState(Processor):
    def __init__(self, table: Table) -> None: ...
    @property
    def table(self) -> Table: ...
