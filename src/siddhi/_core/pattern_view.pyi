from collections.abc import Sequence
from typing import final

from siddhi._core.event import Layout
from siddhi._core.executor import Executor

@final
class PatternView:
    def __init__(self, n_slots: int, picks: Sequence[tuple[int, int, bool, bool]], own: int = -1) -> None: ...

def make_collected(layout: Layout, position: int, slot: int) -> Executor: ...
