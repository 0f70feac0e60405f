from collections.abc import Callable
from typing import final

from siddhi._core.expression.executor import Executor

@final
class ParameterExecutor(Executor): ...

@final
class ValueCopy: ...

class ParameterMismatchError(Exception): ...

@final
class ParameterSet:
    def __init__(
        self,
        names: tuple[str, ...],
        readers: tuple[Callable[[object], object], ...],
        executors: tuple[tuple[ParameterExecutor, ...], ...],
    ) -> None: ...

def make_parameter(type: int) -> ParameterExecutor: ...
