from typing import final

from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.window import Window

@final
class TimeWindow(Window):
    def __init__(self, app: AppContext, pool: EventPool, duration_ms: int, stamps: bool = True) -> None: ...

@final
class ExternalTimeWindow(Window):
    def __init__(
        self, app: AppContext, pool: EventPool, position: int, duration_ms: int, stamps: bool = True
    ) -> None: ...
