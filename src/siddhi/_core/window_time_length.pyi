from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.window import Window

class TimeLengthWindow(Window):
    def __init__(
        self, app: AppContext, pool: EventPool, duration_ms: int, length: int, stamps: bool = True
    ) -> None: ...
