from typing import Any, final

from siddhi._core.executor import Executor
from siddhi._core.searchable import Searchable
from siddhi._core.window import Window

@final
class EventIndex:
    @property
    def slot(self) -> int: ...
    def __init__(self, parts: tuple[Any, ...], slot: int, partitioned: bool) -> None: ...
    def __len__(self) -> int: ...
    def sort(self) -> None: ...

@final
class HeldEvents:
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
        held: HeldEvents,
        index: EventIndex,
        probe: tuple[Any, ...],
        slot: int,
        rest: Executor | None = None,
        calls_python: bool = False,
    ) -> None: ...
