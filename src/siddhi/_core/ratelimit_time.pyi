from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.ratelimit import Limiter

class AllEveryTime(Limiter):
    def __init__(self, app: AppContext, pool: EventPool, period_ms: int) -> None: ...

class FirstEveryTime(Limiter):
    def __init__(self, app: AppContext, pool: EventPool, time_ms: int, grouped: bool) -> None: ...

class LastEveryTime(Limiter):
    def __init__(self, app: AppContext, pool: EventPool, period_ms: int, grouped: bool) -> None: ...
