from collections.abc import Callable
from typing import final

from siddhi._core.expression.executor import Executor
from siddhi._core.runtime.context import AppContext, FaultSink
from siddhi._core.runtime.key_limit import KeyLimit
from siddhi._core.runtime.operator import Processor, Receiver

@final
class PartitionKeys(Processor):
    def __init__(
        self,
        app: AppContext,
        type: int,
        make_state: Callable[[int], object],
        drop_state: Callable[[int], object],
        purge_interval_ms: int = 0,
        idle_period_ms: int = 0,
    ) -> None: ...
    @property
    def purged(self) -> int: ...
    def set_limit(self, limit: KeyLimit) -> PartitionUses: ...
    def __len__(self) -> int: ...
    def retain(self, wanted: Callable[[object], bool]) -> int: ...

@final
class PartitionUses(Processor):
    def __init__(self, keys: PartitionKeys) -> None: ...
    def renew(self) -> None: ...

class PartitionReceiver(Receiver):
    receivers: list[Receiver]
    def __init__(self, app: AppContext, keys: PartitionKeys, source: FaultSink) -> None: ...
    def subscribe(self, receiver: Receiver) -> None: ...

@final
class ValuePartitionReceiver(PartitionReceiver):
    def __init__(self, app: AppContext, keys: PartitionKeys, source: FaultSink, expression: Executor) -> None: ...

@final
class RangePartitionReceiver(PartitionReceiver):
    def __init__(
        self,
        app: AppContext,
        keys: PartitionKeys,
        source: FaultSink,
        labels: tuple[str, ...],
        conditions: tuple[Executor, ...],
    ) -> None: ...
    def look_for(self, wanted: Callable[[str], bool]) -> None: ...

@final
class BroadcastReceiver(PartitionReceiver): ...
