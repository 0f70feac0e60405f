from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import final

from typing_extensions import Self

from siddhi._core.expression.executor import Executor
from siddhi._core.join.join import JoinSelector
from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.key_limit import KeyLimit, Refusals
from siddhi._core.runtime.lookup import Searchable
from siddhi._core.runtime.operator import Processor
from siddhi._core.table.table import Table

@final
class Level:
    def __init__(self, length: int, rows: Table | object, pool: EventPool, types: tuple[int, ...]) -> None: ...
    @property
    def length(self) -> int: ...
    @property
    def table(self) -> Table | None: ...
    @property
    def store(self) -> object: ...
    @property
    def running_rows(self) -> int: ...

@final
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
    def limit(self) -> KeyLimit | None: ...
    @property
    def refusals(self) -> Refusals: ...
    @property
    def held(self) -> int: ...
    def set_limit(self, limit: KeyLimit) -> None: ...
    @property
    def levels(self) -> tuple[Level, ...]: ...

class BucketLength(IntEnum):
    SECOND = 0
    MINUTE = 1
    HOUR = 2
    DAY = 3
    MONTH = 4
    YEAR = 5

@final
class Calendar:
    def __init__(self, bounds_in_zone: Callable[[int, int], tuple[int, int]] | None = None) -> None: ...
    def bucket(self, length: int, time: int) -> tuple[int, int]: ...

def parse_time_text(text: str) -> int: ...

class FoldKind(IntEnum):
    COUNT = 0
    SUM = 1
    MINIMUM = 2
    MAXIMUM = 3
    DISTINCT = 4
    DEVIATION = 5
    LATEST = 6

class FinishKind(IntEnum):
    AS_STORED = 0
    MEAN = 1
    SIZE = 2
    SPREAD = 3
    COMPUTED = 4

@final
class Fold:
    def __new__(
        cls,
        pool: EventPool,
        answers: EventPool,
        folds: Sequence[tuple[int, Executor | None, int]],
        finishes: Sequence[tuple[int, int, int, Executor | None]],
        last: int,
    ) -> Self: ...
    @property
    def pool(self) -> EventPool: ...
    @property
    def answers(self) -> EventPool: ...

@final
class AggregationSearch(Searchable):
    def __init__(
        self,
        aggregation: Aggregation,
        slot: int,
        condition: Executor | None,
        within: tuple[int, int] | tuple[Executor, ...],
        range_of: Callable[..., tuple[int, int]],
        per: int | Executor,
        level_of: Callable[[object], int],
        key_filters: Sequence[tuple[int, Executor]] = (),
    ) -> None: ...
    @property
    def aggregation(self) -> Aggregation: ...

@final
class AggregationJoin(Processor):
    def __init__(
        self,
        app: AppContext,
        own: int,
        search: AggregationSearch,
        outer: bool,
        joins_expired: bool,
        parts: JoinSelector | None,
    ) -> None: ...

@final
class AggregationPurge(Processor):
    def __init__(self, aggregation: Aggregation, interval_ms: int, retention_ms: Sequence[int | None]) -> None: ...
    @property
    def aggregation(self) -> Aggregation: ...
    def start(self) -> None: ...
    def await_first_instant(self) -> None: ...
    def note_rows(self) -> None: ...
