from collections.abc import Callable, Sequence

from siddhi._core.aggregation import Aggregation
from siddhi._core.context import AppContext
from siddhi._core.executor import Executor
from siddhi._core.join_selector import JoinSelector
from siddhi._core.processor import Processor
from siddhi._core.searchable import Searchable

class AggregationSearch(Searchable):
    def __init__(
        self,
        aggregation: Aggregation,
        slot: int,
        condition: Executor | None,
        within: tuple[int, int] | tuple[Executor, ...],
        range_of: Callable[..., tuple[int, int]],
        per: int | Executor,
        level_of: Callable[[object], int],
        gates: Sequence[tuple[int, Executor]] = (),
    ) -> None: ...
    @property
    def aggregation(self) -> Aggregation: ...

class AggregationJoin(Processor):
    def __init__(
        self,
        app: AppContext,
        own: int,
        search: AggregationSearch,
        outer: bool,
        joins_expired: bool,
        parts: JoinSelector | None,
    ) -> None: ...
