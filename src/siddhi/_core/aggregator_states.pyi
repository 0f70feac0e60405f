from typing import Any

from siddhi._core.context import AppContext
from siddhi._core.processor import Processor

class AggregatorStates(Processor):
    @property
    def aggregators(self) -> list[Any]: ...
    def __init__(self, app: AppContext, aggregators: list[Any]) -> None: ...
