from typing import final

from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.window import Window

@final
class LengthWindow(Window):
    def __init__(self, app: AppContext, pool: EventPool, length: int, stamps: bool = True) -> None: ...
