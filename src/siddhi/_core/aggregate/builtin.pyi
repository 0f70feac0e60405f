from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.expression.executor import Executor

def make_aggregator(native: str, arguments: tuple[Executor, ...], type: int, removes: bool = True) -> Aggregator: ...
