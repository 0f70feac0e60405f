from typing import final

from siddhi._core.runtime.context import AppContext
from siddhi._core.stream.junction import StreamJunction

@final
class EventSender:
    def __init__(self, app: AppContext, junction: StreamJunction) -> None: ...
