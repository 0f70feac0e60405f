from collections.abc import Callable
from typing import final

from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.window.base import Window

@final
class CronWindow(Window):
    def __init__(
        self, app: AppContext, pool: EventPool, next_tick: Callable[[int], int | None], stamps: bool = True
    ) -> None: ...
