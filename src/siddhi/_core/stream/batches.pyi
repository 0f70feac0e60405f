from typing import final

from siddhi._core.stream.sender import EventSender

@final
class BatchSender:
    def __init__(self, sender: EventSender) -> None: ...
