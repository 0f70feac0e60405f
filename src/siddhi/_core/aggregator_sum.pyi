from siddhi._core.aggregator import Aggregator
from siddhi._core.executor import Executor

class SumAggregator(Aggregator):
    native: str
    def keep_rest(self) -> None: ...

def make(native: str, arguments: tuple[Executor, ...]) -> SumAggregator: ...
