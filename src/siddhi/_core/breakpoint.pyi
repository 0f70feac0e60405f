from collections.abc import Callable

from siddhi._core.junction import StreamJunction
from siddhi._core.processor import Receiver
from siddhi._core.user_event import Event

class Breakpoint(Receiver):
    def __init__(
        self, inner: Receiver, junction: StreamJunction, function: Callable[[list[Event]], object]
    ) -> None: ...
    def put_in(self) -> None: ...
