from typing import final

from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.window.lookup import HeldEvents

@final
class WindowPublisher(Processor):
    @property
    def held(self) -> HeldEvents: ...
    def __init__(self, app: AppContext, output: StreamJunction, current: bool, expired: bool) -> None: ...
    def hold(self, held: HeldEvents) -> None: ...
