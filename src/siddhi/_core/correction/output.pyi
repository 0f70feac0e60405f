from collections.abc import Callable
from typing import Any, final

from siddhi._core.query.output import OutputTap
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Receiver
from siddhi._core.stream.junction import StreamJunction

@final
class RevisedOutput(Receiver):
    def __init__(self, app: AppContext, id: str, layout: Layout, pool: EventPool, copies: bool = False) -> None: ...
    @property
    def shown(self) -> StreamJunction: ...
    @property
    def retracted(self) -> int: ...
    @property
    def inserted(self) -> int: ...
    @property
    def kept(self) -> int: ...

@final
class RevisedQuery(OutputTap):
    def __init__(self, output: RevisedOutput) -> None: ...
    @property
    def output(self) -> RevisedOutput: ...

@final
class ChangeCallback(Receiver):
    def __init__(
        self, output: RevisedOutput, function: Callable[[int, list[Event] | None, list[Event] | None], object]
    ) -> None: ...
    @property
    def function(self) -> Callable[[int, list[Event] | None, list[Event] | None], object]: ...

@final
class RevisionCallback(Receiver):
    def __init__(
        self,
        app: AppContext,
        layout: Layout,
        stream: str,
        function: Callable[[list[Any]], object],
        make: Callable[[str, int, int, tuple[Any, ...]], Any],
    ) -> None: ...
    @property
    def function(self) -> Callable[[list[Any]], object]: ...

@final
class RevisionMarker(Receiver):
    def __init__(self, shown: StreamJunction, marked: StreamJunction) -> None: ...
