from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.window import Window

class SessionWindow(Window):
    def __init__(
        self, app: AppContext, pool: EventPool, gap_ms: int, position: int | None, latency_ms: int = 0
    ) -> None: ...
