from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.ratelimit import Limiter

class AllEveryEvents(Limiter):
    def __init__(self, app: AppContext, pool: EventPool, events: int) -> None: ...

class FirstEveryEvents(Limiter):
    def __init__(self, app: AppContext, pool: EventPool, events: int, grouped: bool) -> None: ...

class LastEveryEvents(Limiter):
    def __init__(self, app: AppContext, pool: EventPool, events: int, grouped: bool) -> None: ...
