from typing import final

from siddhi._core.pattern.automaton import Pattern
from siddhi._core.query.entry import QueryEntry
from siddhi._core.query.output import QueryOutput
from siddhi._core.query.partition import PartitionReceiver
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor, Receiver
from siddhi._core.runtime.sampler import Meter, Patches, Sampler, SampleSite
from siddhi._core.stream.junction import StreamJunction

@final
class ClauseProbe(Processor):
    def __init__(self, app: AppContext, sampler: Sampler, meter: Meter, inner: Processor) -> None: ...

@final
class Link:
    def __init__(self, owner: QueryEntry | Pattern | Processor, probe: ClauseProbe) -> None: ...

def next_of(owner: QueryEntry | Pattern | Processor) -> Processor | None: ...
def limiter_of(output: QueryOutput) -> Processor | None: ...

@final
class QueryProbe:
    def __init__(self, app: AppContext, sampler: Sampler, output: QueryOutput | None, emitted: Meter) -> None: ...
    def measure(self, owner: QueryEntry | Pattern | Processor, meter: Meter) -> None: ...

@final
class ProfiledEntry(Receiver):
    @property
    def entry(self) -> Receiver: ...
    def __init__(
        self, entry: Receiver, target: StreamJunction | PartitionReceiver, meter: Meter, query: QueryProbe
    ) -> None: ...

@final
class ProfiledEntries(Patches):
    def __init__(self, entries: list[ProfiledEntry]) -> None: ...

@final
class TimerSite(SampleSite):
    def __init__(self, sampler: Sampler, meter: Meter, query: QueryProbe) -> None: ...

def read_both() -> tuple[int, int]: ...
def calibrate(app: AppContext, sampler: Sampler) -> tuple[int, int]: ...
