from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.expression.executor import Executor

class SumAggregator(Aggregator):
    native: str
    def keep_remainder(self) -> None: ...

def make(native: str, arguments: tuple[Executor, ...]) -> SumAggregator: ...
