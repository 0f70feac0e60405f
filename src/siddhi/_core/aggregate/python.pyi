from collections.abc import Callable
from typing import Any

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.expression.executor import Executor

class PythonAggregator(Aggregator):
    @property
    def recomputed(self) -> bool: ...

def place_of(row: tuple[int, tuple[Any, ...]]) -> tuple[Any, ...]: ...
def make_python_aggregator(
    factory: Callable[[], Any],
    arguments: tuple[Executor, ...],
    type: int,
    name: str,
    recomputed: bool = False,
) -> PythonAggregator: ...
