from collections.abc import Sequence

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.aggregate.group import GroupBy
from siddhi._core.expression.executor import Executor
from siddhi._core.query.order import ChunkOrder
from siddhi._core.query.output import QueryOutput
from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor

class Selector(Processor):
    @property
    def pool(self) -> EventPool: ...
    @property
    def output(self) -> QueryOutput: ...
    @property
    def groups(self) -> GroupBy | None: ...
    @property
    def aggregators(self) -> list[Aggregator]: ...
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        executors: tuple[Executor, ...],
        aggregate_columns: Sequence[bool],
        aggregators: list[Aggregator],
        groups: GroupBy | None,
        mode: int,
        wants_current: bool,
        wants_expired: bool,
        having: Executor | None,
        ordering: ChunkOrder | None,
        limit: int,
        offset: int,
        output: QueryOutput,
        late: bool = False,
    ) -> None: ...
