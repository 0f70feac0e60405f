from collections.abc import Sequence

from typing_extensions import Self

from siddhi._core.expression.executor import Executor
from siddhi._core.query.output import QueryOutput
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.runtime.context import AppContext, FaultSink
from siddhi._core.runtime.key_limit import Refusals
from siddhi._core.runtime.operator import Processor, Receiver

class RecordCopier:
    @property
    def pool(self) -> EventPool: ...
    def __new__(cls, source: Layout, pool: EventPool, positions: Sequence[int]) -> Self: ...

class QueryEntry(Receiver):
    @property
    def app(self) -> AppContext: ...
    @property
    def next(self) -> Processor: ...
    def __init__(
        self,
        app: AppContext,
        filters: tuple[Executor, ...],
        copier: RecordCopier | None,
        next: Processor,
        source: FaultSink,
        reads: int,
        filing: tuple[tuple[int, bool | int | str | None, int, bool, int | float, int | float], ...] | None = None,
        forward: QueryOutput | None = None,
        inserts: QueryOutput | None = None,
    ) -> None: ...
    def move(self, source: FaultSink) -> None: ...
    def set_refusals(self, refusals: Refusals) -> None: ...

class FilterProcessor(Processor):
    def __init__(self, app: AppContext, condition: Executor) -> None: ...

class RecordCopyProcessor(Processor):
    def __init__(self, app: AppContext, copier: RecordCopier) -> None: ...
