from typing import final

from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import OperationMeter

class Searchable:
    meter: OperationMeter | None
    @property
    def slot(self) -> int: ...
    @property
    def pool(self) -> EventPool | None: ...

@final
class EmptySearchable(Searchable):
    def __init__(self, slot: int) -> None: ...
