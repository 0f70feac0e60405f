from collections.abc import Callable
from typing import Final

from siddhi._core.aggregator import Aggregator
from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.executor import Executor
from siddhi._core.window import Window

FIRST: Final[int]
LAST: Final[int]

class HeldCondition:
    text: str | None
    def __init__(
        self, app: AppContext, executor: Executor, aggregators: list[Aggregator], text: str | None = None
    ) -> None: ...

class HeldWindow(Window): ...

class ExpressionWindow(HeldWindow):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        condition: HeldCondition | None,
        text: Executor | None,
        make_condition: Callable[[str], HeldCondition] | None,
        stamps: bool = True,
    ) -> None: ...

class ExpressionBatchWindow(HeldWindow):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        condition: HeldCondition | None,
        text: Executor | None,
        make_condition: Callable[[str], HeldCondition] | None,
        includes: Executor | None,
        streams_current: bool,
        stamps: bool = True,
    ) -> None: ...
