from collections.abc import Callable
from typing import Any

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.expression.executor import Executor

class PythonAggregator(Aggregator): ...

def make_python_aggregator(
    factory: Callable[[], Any], arguments: tuple[Executor, ...], type: int, name: str
) -> PythonAggregator: ...
