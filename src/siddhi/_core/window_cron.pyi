from collections.abc import Callable

from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.window import Window

class CronWindow(Window):
    def __init__(
        self, app: AppContext, pool: EventPool, next_tick: Callable[[int], int | None], stamps: bool = True
    ) -> None: ...
