from collections.abc import Iterable
from enum import IntEnum

class EventType(IntEnum):
    CURRENT = 0
    EXPIRED = 1
    TIMER = 2
    RESET = 3

class TypeCode(IntEnum):
    STRING = 0
    INT = 1
    LONG = 2
    FLOAT = 3
    DOUBLE = 4
    BOOL = 5
    OBJECT = 6

class Layout:
    def __init__(self, names: Iterable[str], types: Iterable[int]) -> None: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def types(self) -> tuple[int, ...]: ...
    @property
    def width(self) -> int: ...
    def cell(self, position: int) -> int: ...
    def null_word(self, position: int) -> int: ...

class EventPool:
    def __init__(self, layout: Layout) -> None: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def capacity(self) -> int: ...
    @property
    def alive(self) -> int: ...

def live_events() -> int: ...
def live_pools() -> int: ...
