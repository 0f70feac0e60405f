from collections.abc import Sequence

from siddhi._core.aggregation_fold import Fold
from siddhi._core.aggregation_time import Calendar
from siddhi._core.context import AppContext
from siddhi._core.executor import Executor
from siddhi._core.processor import Processor
from siddhi._core.table import Table

class Level:
    @property
    def length(self) -> int: ...
    @property
    def table(self) -> Table | None: ...
    @property
    def store(self) -> object: ...
    @property
    def running_rows(self) -> int: ...

class Aggregation(Processor):
    def __init__(
        self,
        app: AppContext,
        id: str,
        fold: Fold,
        tables: Sequence[tuple[int, object]],  # a Table, or what runtime/assembly/aggregation_store.py makes
        calendar: Calendar,
        by: Executor | None,
        group: Sequence[Executor],
        first_group: int,
        shared: bool = False,
    ) -> None: ...
    @property
    def id(self) -> str: ...
    @property
    def fold(self) -> Fold: ...
    def settle(self) -> None: ...
    @property
    def levels(self) -> tuple[Level, ...]: ...
