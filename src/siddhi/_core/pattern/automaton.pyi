from collections.abc import Sequence
from typing import final

from typing_extensions import Self

from siddhi._core.expression.executor import Executor
from siddhi._core.query.entry import RecordCopier
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.runtime.context import AppContext, FaultSink
from siddhi._core.runtime.key_limit import KeyLimit
from siddhi._core.runtime.operator import Processor, Receiver

@final
class Pattern(Processor):
    def __init__(
        self,
        app: AppContext,
        matches: Matches,
        states: tuple[State, ...],
        streams: Sequence[Sequence[tuple[int, int]]],
        view: PatternView,
        is_sequence: bool,
        every: bool,
        within_ms: int,
        partitioned: bool,
        limit: KeyLimit | None,
        next: Processor,
    ) -> None: ...
    def start(self) -> None: ...
    def await_first_instant(self) -> None: ...
    @property
    def matches(self) -> Matches: ...
    @property
    def begun(self) -> int: ...
    @property
    def alive(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    @property
    def limit(self) -> KeyLimit | None: ...

@final
class BlockPool:
    def __new__(cls, block_bytes: int) -> Self: ...
    @property
    def alive(self) -> int: ...

@final
class Matches:
    def __new__(cls, pools: tuple[EventPool, ...], counting: Sequence[bool]) -> Self: ...
    @property
    def alive(self) -> int: ...
    @property
    def alive_events(self) -> int: ...
    @property
    def reserved_bytes(self) -> int: ...

@final
class PatternIndex:
    def __new__(
        cls,
        own: tuple[Executor, ...],
        earlier: tuple[Executor, ...],
        partitioned: bool = False,
        plain: bool = False,
    ) -> Self: ...

@final
class PatternView:
    def __new__(cls, n_slots: int, indexed_events: Sequence[tuple[int, int, bool, bool]], own: int = -1) -> Self: ...

def make_collected(layout: Layout, position: int, slot: int) -> Executor: ...

@final
class Operand:
    def __init__(
        self,
        slot: int,
        alone: tuple[Executor, ...],
        conditions: tuple[Executor, ...],
        view: PatternView,
        copier: RecordCopier | None,
        index: PatternIndex | None = None,
        absent: bool = False,
        for_ms: int = -1,
        stops: bool = False,
    ) -> None: ...
    @property
    def slot(self) -> int: ...
    @property
    def absent(self) -> bool: ...
    @property
    def for_ms(self) -> int: ...

@final
class State:
    def __init__(
        self,
        kind: int,
        operands: tuple[Operand, ...],
        following: int,
        again: int = -1,
        low: int = 1,
        high: int = 1,
        group: int = -1,
        late_again: bool = False,
        stops: tuple[int, ...] = (),
    ) -> None: ...
    @property
    def kind(self) -> int: ...

@final
class PatternEntry(Receiver):
    def move(self, source: FaultSink) -> None: ...
    def __init__(
        self,
        pattern: Pattern,
        stream: int,
        source: FaultSink,
        reads: int,
        filing: tuple[tuple[int, bool | int | str | None, int, bool, int | float, int | float], ...] | None = None,
        sleeps: bool = False,
    ) -> None: ...
