from typing import Any

from siddhi._core.join_selector import JoinSelector
from siddhi._core.ratelimit import Limiter

class LimitedJoinSelector(JoinSelector):
    def __init__(self, arguments: tuple[Any, ...], limiter: Limiter) -> None: ...
