from enum import IntEnum
from typing import final

from typing_extensions import Self

from siddhi._core.expression.executor import Executor
from siddhi._core.runtime.context import OperationMeter
from siddhi._core.runtime.lookup import Searchable
from siddhi._core.table.access import Access
from siddhi._core.table.table import Table

class Binding(IntEnum):
    AS_EVENT = 0
    IN_FRAME = 1
    IN_SLOT = 2

@final
class TableSearch:
    meter: OperationMeter | None
    def __init__(
        self,
        table: Table,
        access: Access | None,
        row_free: Executor | None,
        residual: Executor | None,
        whole: Executor | None,
        binding: int,
        slot: int = 0,
    ) -> None: ...
    @property
    def table(self) -> Table: ...
    @property
    def access(self) -> Access | None: ...

@final
class TableSearchable(Searchable):
    def __new__(cls, search: TableSearch, slot: int) -> Self: ...
    @property
    def search(self) -> TableSearch: ...

def make_in(search: TableSearch) -> Executor: ...
