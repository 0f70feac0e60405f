from typing import Protocol, final

from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor
from siddhi._core.stream.junction import StreamJunction

class Trigger(Processor):
    def __init__(self, app: AppContext, junction: StreamJunction) -> None: ...
    def start(self) -> None: ...

@final
class StartTrigger(Trigger): ...

@final
class PeriodicTrigger(Trigger):
    def __init__(self, app: AppContext, junction: StreamJunction, period_ms: int) -> None: ...

class Calendar(Protocol):
    def next_after(self, time_ms: int, /) -> int | None: ...
    def before_last(self, n: int, until_ms: int, /) -> int: ...

@final
class CronTrigger(Trigger):
    def __init__(self, app: AppContext, junction: StreamJunction, text: str, calendar: Calendar) -> None: ...
