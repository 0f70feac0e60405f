from collections.abc import Callable, Iterable, Sequence
from typing import final

from typing_extensions import Self

from siddhi._core.expression.executor import Executor
from siddhi._core.expression.parameter import ParameterSet
from siddhi._core.query.output import QueryOutput
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.lookup import Searchable
from siddhi._core.table.output import TableSink, TableUpdateOrInsert
from siddhi._core.table.query import OnDemand
from siddhi._core.table.search import TableSearch

def event_of(values: tuple[object, ...], layout: Layout) -> Event: ...

@final
class Parameters:
    names: tuple[str, ...]
    def __init__(self, names: tuple[str, ...], executors: tuple[Executor, ...]) -> None: ...

@final
class StoreQuery:
    def __init__(
        self,
        pool: EventPool,
        layout: Layout,
        parameters: Parameters,
        find: Callable[[dict[str, object]], Iterable[Sequence[object]]],
        contains: Callable[[dict[str, object]], bool],
        residual: Executor | None,
        binding: int,
        slot: int = 0,
    ) -> None: ...

@final
class StoreSearchable(Searchable):
    def __new__(cls, query: StoreQuery, slot: int) -> Self: ...

@final
class CachedSearchable(Searchable):
    def __init__(self, cache: object, memory: Searchable, store: Searchable) -> None: ...

@final
class CachedQuery:
    def __init__(self, cache: object, memory: TableSearch, store: StoreQuery) -> None: ...

def make_in_cached(query: CachedQuery, name: str) -> Executor: ...
def make_in_store(query: StoreQuery, name: str) -> Executor: ...

class StoreSink(QueryOutput):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        layout: Layout,
        parameters: Parameters,
        operate: Callable[[list[dict[str, object]], list[tuple[object, ...]]], object],
        gather: object = None,
        change: object = None,
    ) -> None: ...
    def reflect_in(self, cache: object, mirror: TableSink | None) -> None: ...

@final
class StoreUpdateOrInsert(StoreSink):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        layout: Layout,
        parameters: Parameters,
        operate: Callable[
            [
                list[dict[str, object]],
                list[tuple[object, ...]],
                Callable[[Iterable[int]], list[tuple[object, ...]]],
            ],
            object,
        ],
        pending: TableUpdateOrInsert,
        gather: object = None,
        change: object = None,
    ) -> None: ...

@final
class StoreAnswer:
    def __init__(
        self,
        app: AppContext,
        layout: Layout,
        parameters: Parameters,
        query: Callable[[dict[str, object]], Iterable[Sequence[object]]],
    ) -> None: ...
    def declare(self, parameters: ParameterSet) -> None: ...
    def run(self, values: dict[str, object] | None = None) -> list[Event]: ...

@final
class CachedAnswer:
    def __init__(self, app: AppContext, cache: object, memory: OnDemand, store: StoreAnswer) -> None: ...
    def declare(self, parameters: ParameterSet) -> None: ...
    def run(self, values: dict[str, object] | None = None) -> list[Event] | None: ...
