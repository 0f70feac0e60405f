from collections.abc import Callable

from siddhi._core.batch import BatchBuilder, EventBatch
from siddhi._core.context import AppContext
from siddhi._core.event import EventPool, Layout
from siddhi._core.processor import Receiver
from siddhi._core.user_event import Event

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
