from typing import final

from siddhi._core.executor import Executor
from siddhi._core.searchable import Searchable
from siddhi._core.window import Window

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
