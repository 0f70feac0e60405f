from collections.abc import Callable
from typing import Any, final

from siddhi._core.expression.executor import Executor
from siddhi._core.query.entry import RecordCopier
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor
from siddhi._core.stream.junction import StreamJunction

@final
class AwaitedFunction(Processor):
    def __init__(
        self,
        app: AppContext,
        source: StreamJunction,
        copier: RecordCopier,
        function: Callable[..., Any],
        arguments: tuple[Executor, ...],
        first: int,
        count: int,
        calls: Any,
    ) -> None: ...
    @property
    def calls(self) -> Any: ...
    @property
    def is_ready(self) -> bool: ...
    def pending_calls(self) -> list[Any]: ...
    def deliver(self) -> None: ...
    def adopt(self, former: AwaitedFunction, calls: Any) -> None: ...
