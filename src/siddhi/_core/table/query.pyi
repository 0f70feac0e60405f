from typing import final

from siddhi._core.expression.parameter import ParameterSet
from siddhi._core.query.output import QueryOutput
from siddhi._core.query.selector import Selector
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.lookup import Searchable
from siddhi._core.runtime.operator import Processor

@final
class CollectOutput(QueryOutput):
    def __init__(self, app: AppContext, pool: EventPool, layout: Layout, shown: Layout) -> None: ...

@final
class FinishedSelector(Selector): ...

class OnDemand:
    def declare(self, parameters: ParameterSet) -> None: ...
    def run(self, values: dict[str, object] | None = None) -> list[Event] | None: ...

@final
class OnDemandFind(OnDemand):
    def __init__(
        self,
        app: AppContext,
        source: Searchable,
        pool: EventPool,
        selector: Processor,
        output: CollectOutput,
        enough: int = -1,
    ) -> None: ...

@final
class OnDemandChange(OnDemand):
    def __init__(self, app: AppContext, selector: Processor, output: QueryOutput) -> None: ...
