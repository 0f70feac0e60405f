from typing import Any

from siddhi._core.runtime.context import AppContext

class ChunkOrder:
    def __init__(
        self, app: AppContext, keys: tuple[Any, ...], descending: tuple[Any, ...], early: bool = False
    ) -> None: ...
    def sorted_run(self, run: list[Any] | None) -> None: ...
