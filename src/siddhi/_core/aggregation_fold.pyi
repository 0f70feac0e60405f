from collections.abc import Sequence
from enum import IntEnum

from siddhi._core.event import EventPool
from siddhi._core.executor import Executor

class FoldKind(IntEnum):
    COUNT = 0
    SUM = 1
    MINIMUM = 2
    MAXIMUM = 3
    DISTINCT = 4
    DEVIATION = 5
    LATEST = 6

class FinishKind(IntEnum):
    AS_STORED = 0
    MEAN = 1
    SIZE = 2
    SPREAD = 3
    COMPUTED = 4

class Fold:
    def __init__(
        self,
        pool: EventPool,
        answers: EventPool,
        folds: Sequence[tuple[int, Executor | None, int]],
        finishes: Sequence[tuple[int, int, int, Executor | None]],
        last: int,
    ) -> None: ...
    @property
    def pool(self) -> EventPool: ...
    @property
    def answers(self) -> EventPool: ...
