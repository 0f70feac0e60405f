from typing import final

from siddhi._core.expression.executor import Executor
from siddhi._core.runtime.context import AppContext
from siddhi._core.temporal.lifetime import LifetimePool, TemporalOperator
from siddhi._core.temporal.rows import RowMaker

@final
class Select(TemporalOperator):
    def __init__(
        self, app: AppContext, lifetimes: LifetimePool, conditions: tuple[Executor, ...], rows: RowMaker
    ) -> None: ...

@final
class SelectClosed(TemporalOperator):
    def __init__(
        self, app: AppContext, lifetimes: LifetimePool, conditions: tuple[Executor, ...], rows: RowMaker
    ) -> None: ...

@final
class Shift(TemporalOperator):
    def __init__(self, app: AppContext, lifetimes: LifetimePool, by: int) -> None: ...

@final
class AlterLifetime(TemporalOperator):
    def __init__(
        self,
        app: AppContext,
        lifetimes: LifetimePool,
        new_start: Executor | None,
        duration: Executor | None,
        needs_end: bool,
        rows: RowMaker,
        stream: str = "",
        place: str = "",
    ) -> None: ...
