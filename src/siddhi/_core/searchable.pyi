from typing import final

class Searchable:
    @property
    def slot(self) -> int: ...

@final
class NothingHeld(Searchable):
    def __init__(self, slot: int) -> None: ...
