from typing import final

from siddhi._core.event import EventPool

class Searchable:
    @property
    def slot(self) -> int: ...
    @property
    def pool(self) -> EventPool | None: ...

@final
class NothingHeld(Searchable):
    def __init__(self, slot: int) -> None: ...
