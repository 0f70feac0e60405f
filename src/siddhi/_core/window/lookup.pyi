from typing import Any, final

from siddhi._core.expression.executor import Executor
from siddhi._core.runtime.lookup import Searchable
from siddhi._core.window.base import Window

@final
class WindowScan(Searchable):
    def __init__(
        self,
        window: Window,
        slot: int,
        condition: Executor | None = None,
        shared: bool = False,
        tells: bool = False,
        calls_python: bool = False,
    ) -> None: ...

@final
class EventIndex:
    @property
    def slot(self) -> int: ...
    def __init__(self, parts: tuple[Any, ...], slot: int, partitioned: bool) -> None: ...
    def __len__(self) -> int: ...
    def sort(self) -> None: ...

@final
class NumberedEvents:
    @property
    def window(self) -> Window: ...
    @property
    def indexes(self) -> list[Any]: ...
    def __init__(self, window: Window, tells: bool = False, shared: bool = False) -> None: ...
    def __len__(self) -> int: ...
    def add_index(self, index: EventIndex) -> None: ...

@final
class IndexProbe(Searchable):
    def __init__(
        self,
        numbered: NumberedEvents,
        index: EventIndex,
        probe: tuple[Any, ...],
        slot: int,
        residual: Executor | None = None,
        calls_python: bool = False,
    ) -> None: ...

@final
class RangeProbe(Searchable):
    def __init__(
        self,
        numbered: NumberedEvents,
        index: EventIndex,
        bounds: tuple[tuple[Executor, bool, bool], ...],
        slot: int,
        condition: Executor,
        scan: Searchable,
        calls_python: bool = False,
    ) -> None: ...
