from collections.abc import Sequence
from typing import final

from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.window.base import Window

@final
class SortWindow(Window):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        length: int,
        positions: Sequence[int],
        descending: Sequence[bool],
        stamps: bool = True,
    ) -> None: ...
