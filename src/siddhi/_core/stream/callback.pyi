from collections.abc import Callable
from typing import final

from siddhi._core.columnar.batch import BatchBuilder, EventBatch
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Receiver

class StreamCallback(Receiver):
    @property
    def function(self) -> Callable[..., object]: ...
    @property
    def stream(self) -> str: ...
    def __init__(
        self, app: AppContext, pool: EventPool, layout: Layout, stream: str, function: Callable[[list[Event]], object]
    ) -> None: ...

class BatchCallback(Receiver):
    @property
    def builder(self) -> BatchBuilder: ...
    @property
    def function(self) -> Callable[..., object]: ...
    @property
    def stream(self) -> str: ...
    def __init__(
        self, app: AppContext, builder: BatchBuilder, stream: str, function: Callable[[EventBatch], object]
    ) -> None: ...
    def flush(self) -> int: ...

@final
class Collector(BatchCallback):
    @property
    def timestamp(self) -> str | None: ...
    @property
    def chunk(self) -> str | None: ...
    @property
    def end(self) -> str | None: ...
    def __init__(
        self,
        app: AppContext,
        builder: BatchBuilder,
        stream: str,
        timestamp: str | None,
        chunk: str | None,
        end: str | None = None,
    ) -> None: ...
    def collects(self, names: tuple[str, ...], types: tuple[int, ...]) -> bool: ...
    def move(self, app: AppContext) -> None: ...
    def drain(self) -> EventBatch: ...
