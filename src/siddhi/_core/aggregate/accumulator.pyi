from typing_extensions import Self

from siddhi._core.aggregate.aggregator import Aggregator

class Accumulators:
    aggregators: tuple[Aggregator, ...]
    def __new__(cls, aggregators: list[Aggregator]) -> Self: ...
