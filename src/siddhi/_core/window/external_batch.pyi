from typing import final

from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.window.base import Window

@final
class ExternalTimeBatchWindow(Window):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        position: int,
        duration_ms: int,
        start_ms: int | None,
        start_position: int | None,
        timeout_ms: int,
        replaces: bool,
        keeps_expired: bool,
        stamps: bool = True,
    ) -> None: ...
