from collections.abc import Iterable
from typing import final

from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.window.base import Window

class CountingWindow(Window): ...

@final
class FrequentWindow(CountingWindow):
    def __init__(
        self, app: AppContext, pool: EventPool, length: int, positions: Iterable[int], stamps: bool = True
    ) -> None: ...

@final
class LossyFrequentWindow(CountingWindow):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        support: float,
        error: float,
        positions: Iterable[int],
        stamps: bool = True,
    ) -> None: ...
