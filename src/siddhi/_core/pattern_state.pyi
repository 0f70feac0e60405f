from typing import final

from siddhi._core.executor import Executor
from siddhi._core.pattern_index import PatternIndex
from siddhi._core.pattern_view import PatternView
from siddhi._core.query import StageCopier

@final
class Operand:
    def __init__(
        self,
        slot: int,
        alone: tuple[Executor, ...],
        conditions: tuple[Executor, ...],
        view: PatternView,
        copier: StageCopier | None,
        index: PatternIndex | None = None,
        absent: bool = False,
        for_ms: int = -1,
        stops: bool = False,
    ) -> None: ...
    @property
    def slot(self) -> int: ...
    @property
    def absent(self) -> bool: ...
    @property
    def for_ms(self) -> int: ...

@final
class State:
    def __init__(
        self,
        kind: int,
        operands: tuple[Operand, ...],
        following: int,
        again: int = -1,
        low: int = 1,
        high: int = 1,
        in_first_group: bool = False,
        late_again: bool = False,
        stops: tuple[int, ...] = (),
    ) -> None: ...
    @property
    def kind(self) -> int: ...
