from collections.abc import Sequence

from siddhi._core.aggregator import Aggregator
from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.executor import Executor
from siddhi._core.group import GroupBy
from siddhi._core.order import ChunkOrder
from siddhi._core.output import OutputStage
from siddhi._core.processor import Processor

class Selector(Processor):
    @property
    def pool(self) -> EventPool: ...
    @property
    def output(self) -> OutputStage: ...
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
        output: OutputStage,
        late: bool = False,
    ) -> None: ...
