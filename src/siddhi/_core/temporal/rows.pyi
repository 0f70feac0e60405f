from typing import final

from siddhi._core.expression.executor import Executor
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.runtime.context import AppContext
from siddhi._core.temporal.lifetime import LifetimePool

lifetime_layout: Layout

@final
class RowMaker:
    def __init__(
        self,
        app: AppContext,
        pool: EventPool | None = None,
        executors: tuple[Executor, ...] = (),
        having: Executor | None = None,
    ) -> None: ...
    @property
    def pool(self) -> EventPool | None: ...

@final
class OutputMap:
    def __init__(self, lifetimes: LifetimePool) -> None: ...
