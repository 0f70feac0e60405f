from typing import Any

from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.executor import Executor
from siddhi._core.processor import Processor

class PythonStreamFunction(Processor):
    def __init__(
        self, app: AppContext, pool: EventPool, function: Any, arguments: tuple[Any, ...], first: int, count: int
    ) -> None: ...

class LogFunction(Processor):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        logger: Any,
        priority: Executor | None,
        message: Executor | None,
        with_event: Executor | None,
    ) -> None: ...

class Pol2Cart(Processor):
    def __init__(self, app: AppContext, pool: EventPool, arguments: tuple[Any, ...], first: int) -> None: ...
