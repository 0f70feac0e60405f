from typing import final

from siddhi._core.expression.executor import Executor
from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.window.base import Window

@final
class UniqueWindow(Window):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        keys: tuple[Executor, ...],
        keeps_first: bool,
        length: int,
        duration_ms: int,
        stamps: bool = True,
    ) -> None: ...
