from siddhi._core.aggregate.aggregator import Aggregator

class Measures:
    aggregators: tuple[Aggregator, ...]
    def __init__(self, aggregators: list[Aggregator]) -> None: ...
