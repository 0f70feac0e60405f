from collections.abc import Sequence
from typing import Any

from siddhi._core.event import Layout

def pack(layout: Layout, events: Sequence[tuple[int, int, tuple[Any, ...]]]) -> bytes: ...
def unpack(layout: Layout, data: bytes) -> list[tuple[int, int, tuple[Any, ...]]]: ...
