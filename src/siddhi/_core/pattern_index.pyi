from typing import final

from siddhi._core.executor import Executor

@final
class PatternIndex:
    def __init__(
        self,
        own: tuple[Executor, ...],
        earlier: tuple[Executor, ...],
        partitioned: bool = False,
        plain: bool = False,
    ) -> None: ...
