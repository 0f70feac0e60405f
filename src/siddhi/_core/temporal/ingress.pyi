from typing import final

from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Receiver
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.temporal.lifetime import LifetimePool, TemporalOperator

class TemporalIngress(TemporalOperator):
    def __init__(
        self,
        app: AppContext,
        lifetimes: LifetimePool,
        stream: str,
        pool: EventPool,
        model: int,
        policy: int,
        advance: tuple[int, int, int, bool] | None = None,
    ) -> None: ...
    @property
    def stream(self) -> str: ...
    @property
    def model(self) -> int: ...
    @property
    def policy(self) -> int: ...
    @property
    def cti(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    @property
    def adjusted(self) -> int: ...
    @property
    def waiting(self) -> int: ...
    @property
    def open_events(self) -> int: ...

@final
class CtiImport(TemporalOperator):
    def __init__(self, app: AppContext, lifetimes: LifetimePool, ingress: TemporalIngress) -> None: ...

@final
class ClassicalEntry(Receiver):
    def __init__(self, app: AppContext, junction: StreamJunction, ingress: TemporalIngress) -> None: ...
