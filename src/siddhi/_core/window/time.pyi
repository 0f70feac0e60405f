from typing import final

from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.window.base import Window

@final
class TimeWindow(Window):
    def __init__(self, app: AppContext, pool: EventPool, duration_ms: int, stamps: bool = True) -> None: ...

@final
class ExternalTimeWindow(Window):
    def __init__(
        self, app: AppContext, pool: EventPool, position: int, duration_ms: int, stamps: bool = True
    ) -> None: ...

@final
class TimeLengthWindow(Window):
    def __init__(
        self, app: AppContext, pool: EventPool, duration_ms: int, length: int, stamps: bool = True
    ) -> None: ...

@final
class DelayWindow(Window):
    def __init__(self, app: AppContext, pool: EventPool, duration_ms: int) -> None: ...
