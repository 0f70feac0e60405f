from typing import Any

from siddhi._core.group import GroupBy
from siddhi._core.output import RateLimiter
from siddhi._core.selector import Selector

class Limiter(RateLimiter):
    def start(self) -> None: ...

class LimitedGroups(GroupBy):
    def set_limiter(self, limiter: Limiter) -> None: ...

class LimitedSelector(Selector):
    def __init__(self, arguments: tuple[Any, ...], limiter: Limiter) -> None: ...
