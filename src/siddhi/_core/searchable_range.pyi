from typing import final

from siddhi._core.executor import Executor
from siddhi._core.searchable import Searchable
from siddhi._core.searchable_index import EventIndex, HeldEvents

@final
class RangeProbe(Searchable):
    def __init__(
        self,
        held: HeldEvents,
        index: EventIndex,
        bounds: tuple[tuple[Executor, bool, bool], ...],
        slot: int,
        condition: Executor,
        scan: Searchable,
        calls_python: bool = False,
    ) -> None: ...
