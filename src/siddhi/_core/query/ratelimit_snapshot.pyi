from collections.abc import Iterable
from enum import IntEnum
from typing import final

from siddhi._core.query.order import ChunkOrder
from siddhi._core.query.ratelimit import Limiter
from siddhi._core.record.event import EventPool
from siddhi._core.runtime.context import AppContext

class Picture(IntEnum):
    LATEST = 0
    ROWS = 1
    AGGREGATES = 2

@final
class SnapshotLimiter(Limiter):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        period_ms: int,
        grouped: bool,
        picture: int,
        compared: Iterable[int],
        aggregated: Iterable[int],
        ordering: ChunkOrder | None,
        limit: int,
        offset: int,
    ) -> None: ...
