from collections.abc import Callable
from typing import final

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

@final
class CronTrigger(Trigger):
    def __init__(self, app: AppContext, junction: StreamJunction, next_after: Callable[[int], int | None]) -> None: ...
