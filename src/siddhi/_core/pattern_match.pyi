from collections.abc import Sequence
from typing import final

from siddhi._core.event import EventPool

@final
class BlockPool:
    def __init__(self, block_bytes: int) -> None: ...
    @property
    def alive(self) -> int: ...

@final
class Matches:
    def __init__(self, pools: tuple[EventPool, ...], counting: Sequence[bool]) -> None: ...
    @property
    def alive(self) -> int: ...
    @property
    def alive_events(self) -> int: ...
    @property
    def reserved_bytes(self) -> int: ...
