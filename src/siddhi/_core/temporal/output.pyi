from collections.abc import Callable
from typing import Any, final

from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.stream.callback import Collector
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.temporal.ingress import TemporalIngress
from siddhi._core.temporal.lifetime import LifetimePool, TemporalOperator

@final
class TemporalOutput(TemporalOperator):
    def __init__(
        self,
        app: AppContext,
        lifetimes: LifetimePool,
        junction: StreamJunction,
        model: int,
        by_start: bool,
        make: type[tuple[Any, ...]],
        keeps_open: bool = False,
    ) -> None: ...
    @property
    def callbacks(self) -> list[Callable[[list[Any]], object]]: ...
    @property
    def event_callbacks(self) -> list[Callable[[list[Event]], object]]: ...
    @property
    def collectors(self) -> list[Collector]: ...
    @property
    def waiting(self) -> int: ...
    def alive(self) -> list[Any]: ...

@final
class ClassicalRelease(TemporalOperator):
    def __init__(
        self,
        app: AppContext,
        lifetimes: LifetimePool,
        junctions: list[StreamJunction],
        by_row: tuple[bool, ...],
        filled: list[TemporalIngress],
    ) -> None: ...
