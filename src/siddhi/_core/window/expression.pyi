from collections.abc import Callable
from typing import Final, final

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.expression.executor import Executor
from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.window.base import Window

FIRST: Final[int]
LAST: Final[int]

@final
class BufferCondition:
    text: str | None
    def __init__(
        self, app: AppContext, executor: Executor, aggregators: list[Aggregator], text: str | None = None
    ) -> None: ...

class BufferedWindow(Window): ...

@final
class ExpressionWindow(BufferedWindow):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        condition: BufferCondition | None,
        text: Executor | None,
        make_condition: Callable[[str], BufferCondition] | None,
        stamps: bool = True,
    ) -> None: ...

@final
class ExpressionBatchWindow(BufferedWindow):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        condition: BufferCondition | None,
        text: Executor | None,
        make_condition: Callable[[str], BufferCondition] | None,
        includes: Executor | None,
        streams_current: bool,
        stamps: bool = True,
    ) -> None: ...
