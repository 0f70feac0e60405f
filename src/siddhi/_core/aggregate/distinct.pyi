from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.expression.executor import Executor

class DistinctAggregator(Aggregator):
    def most_values(self) -> int: ...

class UnionAggregator(Aggregator):
    def most_values(self) -> int: ...

def make(native: str, arguments: tuple[Executor, ...]) -> Aggregator: ...
