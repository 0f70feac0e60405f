from collections.abc import Callable
from typing import TypeAlias

from siddhi._core.record.event import EventPool, Layout
from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.metrics import OperationMeter
from siddhi._core.runtime.operator import Processor
from siddhi._core.stream.junction import StreamJunction

_QueryCallback: TypeAlias = Callable[[int, list[Event] | None, list[Event] | None], object]

class RateLimiter(Processor):
    output: QueryOutput

class QueryOutput:
    @property
    def app(self) -> AppContext: ...
    @property
    def pool(self) -> EventPool: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def target(self) -> StreamJunction | None: ...
    events: int
    meter: OperationMeter | None
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        layout: Layout,
        target: StreamJunction | None,
        leaves_partition: bool = False,
        always: bool = False,
    ) -> None: ...
    def add_callback(self, callback: _QueryCallback) -> None: ...
    def remove_callback(self, callback: _QueryCallback) -> None: ...
    def set_limiter(self, limiter: RateLimiter) -> None: ...
    def set_counting(self, counting: bool) -> None: ...
