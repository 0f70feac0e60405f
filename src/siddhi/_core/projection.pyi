from typing import Any, final

from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.output import OutputStage
from siddhi._core.processor import Processor

@final
class Projection(Processor):
    @property
    def pool(self) -> EventPool: ...
    @property
    def output(self) -> OutputStage: ...
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        executors: tuple[Any, ...],
        source: EventPool | None,
        output: OutputStage,
        pure: bool = False,
    ) -> None: ...
    def collect_at_once(self) -> None: ...
