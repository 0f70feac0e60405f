from typing import final

from siddhi._core.context import AppContext
from siddhi._core.event import EventPool
from siddhi._core.join_selector import JoinSelector
from siddhi._core.processor import Processor
from siddhi._core.searchable import Searchable
from siddhi._core.searchable_index import HeldEvents

@final
class JoinStep(Processor):
    def __init__(
        self,
        app: AppContext,
        own: int,
        other: Searchable | None,
        held: HeldEvents | None,
        outer: bool,
        joins_expired: bool,
        parts: JoinSelector | None,
    ) -> None: ...

@final
class PassingWindow(Processor):
    def __init__(self, app: AppContext, pool: EventPool | None) -> None: ...
