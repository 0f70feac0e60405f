from collections.abc import Sequence

from siddhi._core.aggregation import Aggregation
from siddhi._core.processor import Processor

class AggregationPurge(Processor):
    def __init__(self, aggregation: Aggregation, interval_ms: int, retention_ms: Sequence[int | None]) -> None: ...
    @property
    def aggregation(self) -> Aggregation: ...
    def start(self) -> None: ...
