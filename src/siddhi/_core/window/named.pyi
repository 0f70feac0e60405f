from typing import final

from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.window.lookup import NumberedEvents

@final
class WindowPublisher(Processor):
    @property
    def numbered(self) -> NumberedEvents: ...
    def __init__(self, app: AppContext, output: StreamJunction, current: bool, expired: bool) -> None: ...
    def hold(self, numbered: NumberedEvents) -> None: ...
