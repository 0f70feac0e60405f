from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.expression.executor import Executor

class TechnicalAggregator(Aggregator): ...

PARAMETERS: dict[str, tuple[int, tuple[str, ...]]]

def make(name: str, arguments: tuple[Executor, ...]) -> Aggregator: ...
