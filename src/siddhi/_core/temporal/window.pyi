from typing import final

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.expression.executor import Executor
from siddhi._core.record.event import Layout
from siddhi._core.runtime.context import AppContext
from siddhi._core.temporal.lifetime import LifetimePool, TemporalOperator
from siddhi._core.temporal.rows import RowMaker

@final
class Groups:
    def __init__(
        self,
        lifetimes: LifetimePool,
        layout: Layout,
        positions: tuple[int, ...],
        rows: RowMaker,
        aggregators: list[Aggregator],
        aggregates: bool,
        order: tuple[tuple[int, bool], ...],
        limit: int,
        conditions: tuple[Executor, ...] = (),
    ) -> None: ...

@final
class Snapshot(TemporalOperator):
    def __init__(self, app: AppContext, lifetimes: LifetimePool, groups: Groups) -> None: ...

@final
class Hopping(TemporalOperator):
    def __init__(
        self,
        app: AppContext,
        lifetimes: LifetimePool,
        groups: Groups,
        size: int,
        hop: int,
        alignment: int,
        clip: bool,
        place: str = "",
    ) -> None: ...

@final
class CountByStart(TemporalOperator):
    def __init__(
        self, app: AppContext, lifetimes: LifetimePool, groups: Groups, count: int, idle: int = -1, interval: int = 0
    ) -> None: ...
