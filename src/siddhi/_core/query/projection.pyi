from typing import Any, final

from siddhi._core.query.output import QueryOutput
from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor

@final
class Projection(Processor):
    @property
    def pool(self) -> EventPool: ...
    @property
    def output(self) -> QueryOutput: ...
    @property
    def forward(self) -> QueryOutput | None: ...
    @property
    def inserts(self) -> QueryOutput | None: ...
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        executors: tuple[Any, ...],
        source: EventPool | None,
        output: QueryOutput,
        pure: bool = False,
    ) -> None: ...
    def collect_at_once(self) -> None: ...
