from collections.abc import Callable
from typing import final

from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.sampler import Meter, Patches, Sampler
from siddhi._core.stream.probes import Stopwatch
from siddhi._core.temporal.lifetime import LifetimePool, TemporalOperator, WiringPatches

class TemporalProbe(TemporalOperator):
    def __init__(self, app: AppContext, lifetimes: LifetimePool) -> None: ...
    def attach(self, source: TemporalOperator, target: TemporalOperator, input: int) -> None: ...
    def detach(self, source: TemporalOperator) -> None: ...

@final
class EntryProbe(TemporalProbe):
    def __init__(self, app: AppContext, lifetimes: LifetimePool, stopwatch: Stopwatch) -> None: ...
    @property
    def chunks(self) -> int: ...
    @property
    def nanoseconds(self) -> int: ...
    @property
    def slowest(self) -> int: ...
    def reset(self) -> None: ...

@final
class ExitProbe(TemporalProbe):
    def __init__(self, app: AppContext, lifetimes: LifetimePool, stopwatch: Stopwatch) -> None: ...
    @property
    def events(self) -> int: ...
    def reset(self) -> None: ...

@final
class LifetimeSampling:
    def __init__(self, sampler: Sampler) -> None: ...

@final
class TemporalClauseProbe(TemporalProbe):
    def __init__(
        self,
        app: AppContext,
        lifetimes: LifetimePool,
        sampling: LifetimeSampling,
        meter: Meter,
        source: TemporalOperator,
        target: TemporalOperator,
        input: int,
    ) -> None: ...

@final
class TemporalPatches(WiringPatches):
    def __init__(self, find: Callable[[], list[TemporalClauseProbe]]) -> None: ...

@final
class AllPatches(Patches):
    def __init__(self, patches: list[Patches]) -> None: ...

@final
class TemporalBreakpoint(TemporalProbe):
    def __init__(
        self,
        app: AppContext,
        lifetimes: LifetimePool,
        make: Callable[..., object],
        function: Callable[..., object],
    ) -> None: ...
