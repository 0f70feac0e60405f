from collections.abc import Sequence
from typing import final

from typing_extensions import Self

from siddhi._core.expression.executor import Executor
from siddhi._core.query.output import QueryOutput
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.runtime.context import AppContext
from siddhi._core.table.search import TableSearch
from siddhi._core.table.table import Table

class Assignments:
    def __new__(cls, table: Table, positions: Sequence[int], executors: tuple[Executor, ...]) -> Self: ...
    @property
    def table(self) -> Table: ...

class TableSink(QueryOutput):
    def __init__(self, app: AppContext, pool: EventPool, layout: Layout, table: Table) -> None: ...
    @property
    def table(self) -> Table: ...

@final
class TableInsert(TableSink): ...

@final
class TableDelete(TableSink):
    def __init__(self, app: AppContext, pool: EventPool, layout: Layout, search: TableSearch) -> None: ...
    @property
    def search(self) -> TableSearch: ...

@final
class TableUpdate(TableSink):
    def __init__(
        self, app: AppContext, pool: EventPool, layout: Layout, search: TableSearch, assignments: Assignments
    ) -> None: ...
    @property
    def search(self) -> TableSearch: ...

@final
class TableUpdateOrInsert(TableSink):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        layout: Layout,
        search: TableSearch,
        assignments: Assignments,
        overwrites: bool,
        pending: TableUpdateOrInsert | None = None,
    ) -> None: ...
    @property
    def pending(self) -> TableUpdateOrInsert | None: ...
    @property
    def search(self) -> TableSearch: ...
