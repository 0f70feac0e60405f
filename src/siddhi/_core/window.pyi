from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.processor import Processor

class Window(Processor):
    @property
    def pool(self) -> EventPool: ...
    def __init__(self, app: AppContext, pool: EventPool, stamps: bool = True) -> None: ...
    @property
    def is_searchable(self) -> bool: ...
