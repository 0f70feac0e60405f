from collections.abc import Sequence

from siddhi._core.expression.executor import Executor
from siddhi._core.query.output import OutputStage
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.runtime.context import AppContext
from siddhi._core.table.search import TableSearch
from siddhi._core.table.table import Table

class Assignments:
    def __init__(self, table: Table, positions: Sequence[int], executors: tuple[Executor, ...]) -> None: ...
    @property
    def table(self) -> Table: ...

class TableStage(OutputStage):
    def __init__(self, app: AppContext, pool: EventPool, layout: Layout, table: Table) -> None: ...
    @property
    def table(self) -> Table: ...

class TableInsert(TableStage): ...

class TableDelete(TableStage):
    def __init__(self, app: AppContext, pool: EventPool, layout: Layout, search: TableSearch) -> None: ...
    @property
    def search(self) -> TableSearch: ...

class TableUpdate(TableStage):
    def __init__(
        self, app: AppContext, pool: EventPool, layout: Layout, search: TableSearch, assignments: Assignments
    ) -> None: ...
    @property
    def search(self) -> TableSearch: ...

class TableUpdateOrInsert(TableStage):
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
