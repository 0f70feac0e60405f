from typing import final

from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.window.base import Window

class BatchWindow(Window):
    def __init__(
        self, app: AppContext, pool: EventPool, keeps_expired: bool, streams_current: bool, stamps: bool = True
    ) -> None: ...
    def accumulate(self) -> None: ...

@final
class LengthBatchWindow(BatchWindow):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        length: int,
        keeps_expired: bool,
        streams_current: bool = False,
        stamps: bool = True,
    ) -> None: ...

@final
class TimeBatchWindow(BatchWindow):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        duration_ms: int,
        start_ms: int | None,
        keeps_expired: bool,
        streams_current: bool = False,
        stamps: bool = True,
    ) -> None: ...

@final
class ChunkBatchWindow(BatchWindow):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        length: int,
        keeps_expired: bool,
        stamps: bool = True,
        resets: bool = True,
    ) -> None: ...
