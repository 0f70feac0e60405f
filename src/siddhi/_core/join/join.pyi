from typing import Any, final

from siddhi._core.query.ratelimit import Limiter
from siddhi._core.query.selector import Selector
from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.lookup import Searchable
from siddhi._core.runtime.operator import Processor
from siddhi._core.window.lookup import NumberedEvents

class JoinSelector(Selector): ...

@final
class JoinStep(Processor):
    def __init__(
        self,
        app: AppContext,
        own: int,
        other: Searchable | None,
        numbered: NumberedEvents | None,
        outer: bool,
        joins_expired: bool,
        parts: JoinSelector | None,
    ) -> None: ...

@final
class PassingWindow(Processor):
    def __init__(self, app: AppContext, pool: EventPool | None) -> None: ...

@final
class LimitedJoinSelector(JoinSelector):
    def __init__(self, arguments: tuple[Any, ...], limiter: Limiter) -> None: ...
