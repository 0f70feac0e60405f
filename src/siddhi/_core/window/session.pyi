from typing import final

from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.window.base import Window

@final
class SessionWindow(Window):
    def __init__(
        self, app: AppContext, pool: EventPool, gap_ms: int, position: int | None, latency_ms: int = 0
    ) -> None: ...
