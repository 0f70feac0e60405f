from collections.abc import Callable
from typing import final

from siddhi._core.query.partition import PartitionReceiver
from siddhi._core.record.user_event import Event
from siddhi._core.runtime.operator import Receiver
from siddhi._core.stream.junction import StreamJunction

@final
class Stopwatch:
    def __init__(self) -> None: ...

@final
class LatencyProbe(Receiver):
    def __init__(self, inner: Receiver, target: StreamJunction | PartitionReceiver, stopwatch: Stopwatch) -> None: ...
    @property
    def chunks(self) -> int: ...
    @property
    def nanoseconds(self) -> int: ...
    @property
    def slowest(self) -> int: ...
    def attach(self) -> None: ...
    def detach(self) -> None: ...

@final
class Breakpoint(Receiver):
    def __init__(
        self, inner: Receiver, junction: StreamJunction, function: Callable[[list[Event]], object]
    ) -> None: ...
    def attach(self) -> None: ...
