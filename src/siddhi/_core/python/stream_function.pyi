from typing import Any

from siddhi._core.expression.executor import Executor
from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor

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
