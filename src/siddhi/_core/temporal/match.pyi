from typing import final

from siddhi._core.expression.executor import Executor
from siddhi._core.record.event import Layout
from siddhi._core.runtime.context import AppContext
from siddhi._core.temporal.lifetime import LifetimePool, TemporalOperator
from siddhi._core.temporal.rows import RowMaker

@final
class Side:
    def __init__(
        self, lifetimes: LifetimePool, layout: Layout, positions: tuple[int, ...], outer: bool = False
    ) -> None: ...
    @property
    def outer(self) -> bool: ...
    @property
    def size(self) -> int: ...

@final
class Matcher(TemporalOperator):
    def __init__(
        self,
        app: AppContext,
        lifetimes: LifetimePool,
        left: Side,
        right: Side,
        condition: Executor | None,
        rows: RowMaker,
        pairs: bool,
    ) -> None: ...

@final
class Clip(TemporalOperator):
    def __init__(
        self,
        app: AppContext,
        lifetimes: LifetimePool,
        left: Side,
        right: Side,
        condition: Executor | None,
        rows: RowMaker,
    ) -> None: ...
