from typing import Any

from siddhi._core.expression.executor import Executor
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor

class ProcessorContext:
    @property
    def arguments(self) -> tuple[Any, ...]: ...
    @property
    def attributes(self) -> tuple[str, ...]: ...
    @property
    def argument_names(self) -> tuple[str | None, ...]: ...
    @property
    def app_name(self) -> str: ...
    @property
    def now(self) -> int: ...
    def schedule(self, when: int) -> None: ...

class PythonStep:
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        layout: Layout,
        factory: Any,
        what: str,
        arguments: tuple[Executor, ...],
        constants: tuple[Any, ...],
        count: int,
        reset: object = None,
    ) -> None: ...

class PythonStreamProcessor(Processor):
    def __init__(self, host: PythonStep) -> None: ...
