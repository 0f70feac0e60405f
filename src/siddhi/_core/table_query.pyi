from typing import final

from siddhi._core.context import AppContext
from siddhi._core.event import EventPool, Layout
from siddhi._core.output import OutputStage
from siddhi._core.processor import Processor
from siddhi._core.searchable import Searchable
from siddhi._core.selector import Selector
from siddhi._core.user_event import Event

class CollectStage(OutputStage):
    def __init__(self, app: AppContext, pool: EventPool, layout: Layout, shown: Layout) -> None: ...

@final
class FinishedSelector(Selector): ...

class OnDemand:
    def run(self) -> list[Event] | None: ...

class OnDemandFind(OnDemand):
    def __init__(
        self,
        app: AppContext,
        source: Searchable,
        pool: EventPool,
        selector: Processor,
        stage: CollectStage,
        enough: int = -1,
    ) -> None: ...

class OnDemandChange(OnDemand):
    def __init__(self, app: AppContext, selector: Processor, output: OutputStage) -> None: ...
