from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor

class Window(Processor):
    @property
    def pool(self) -> EventPool: ...
    def __init__(self, app: AppContext, pool: EventPool, stamps: bool = True) -> None: ...
    @property
    def is_searchable(self) -> bool: ...
