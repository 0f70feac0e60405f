from collections.abc import Callable, Sequence
from typing import final

from siddhi._core.context import AppContext
from siddhi._core.pattern_match import Matches
from siddhi._core.pattern_state import State
from siddhi._core.pattern_view import PatternView
from siddhi._core.processor import Processor

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
        limit: int,
        query: str,
        on_drop: Callable[[int], object] | None,
        next: Processor,
    ) -> None: ...
    def start(self) -> None: ...
    @property
    def matches(self) -> Matches: ...
    @property
    def begun(self) -> int: ...
    @property
    def alive(self) -> int: ...
    @property
    def dropped(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def turned_away(self) -> int: ...
    warn_at: int
    nearly_full: Callable[[int], object]
