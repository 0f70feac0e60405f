from collections.abc import Iterable
from typing import final

from siddhi._core.record.user_event import Event

@final
class BinaryReader:
    def __init__(self, codes: Iterable[int]) -> None: ...
    def events(self, message: bytes) -> list[Event] | None: ...
