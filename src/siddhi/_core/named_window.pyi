from typing import final

from siddhi._core.context import AppContext
from siddhi._core.junction import StreamJunction
from siddhi._core.processor import Processor
from siddhi._core.searchable_index import HeldEvents

@final
class WindowPublisher(Processor):
    @property
    def held(self) -> HeldEvents: ...
    def __init__(self, app: AppContext, output: StreamJunction, current: bool, expired: bool) -> None: ...
    def hold(self, held: HeldEvents) -> None: ...
