from typing import Any, final

from siddhi._core.aggregate.group import GroupBy
from siddhi._core.query.output import RateLimiter
from siddhi._core.query.selector import Selector
from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext

class Limiter(RateLimiter):
    def __init__(self, app: AppContext, pool: EventPool, grouped: bool, period_ms: int = 0) -> None: ...
    def start(self) -> None: ...
    def await_first_instant(self) -> None: ...

class LimitedGroups(GroupBy):
    def set_limiter(self, limiter: Limiter) -> None: ...

class LimitedSelector(Selector):
    def __init__(self, arguments: tuple[Any, ...], limiter: Limiter) -> None: ...

@final
class AllEveryEvents(Limiter):
    def __init__(self, app: AppContext, pool: EventPool, events: int) -> None: ...

@final
class FirstEveryEvents(Limiter):
    def __init__(self, app: AppContext, pool: EventPool, events: int, grouped: bool) -> None: ...

@final
class LastEveryEvents(Limiter):
    def __init__(self, app: AppContext, pool: EventPool, events: int, grouped: bool) -> None: ...

@final
class AllEveryTime(Limiter):
    def __init__(self, app: AppContext, pool: EventPool, period_ms: int) -> None: ...

@final
class FirstEveryTime(Limiter):
    def __init__(self, app: AppContext, pool: EventPool, time_ms: int, grouped: bool) -> None: ...

@final
class LastEveryTime(Limiter):
    def __init__(self, app: AppContext, pool: EventPool, period_ms: int, grouped: bool) -> None: ...
