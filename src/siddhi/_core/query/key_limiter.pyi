from typing import final

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.aggregate.group import GroupWatcher
from siddhi._core.query.selector import Selector
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.key_limit import KeyLimit, Refusals

@final
class KeyLimiter(GroupWatcher):
    @property
    def selector(self) -> Selector: ...
    @property
    def keys(self) -> KeyLimit: ...
    @property
    def values(self) -> KeyLimit: ...
    @property
    def refusals(self) -> Refusals: ...
    @property
    def holds(self) -> bool: ...
    @property
    def live_keys(self) -> int: ...
    @property
    def most_values(self) -> int: ...
    def __init__(
        self,
        app: AppContext,
        query: str,
        selector: Selector,
        keys: KeyLimit,
        values: KeyLimit,
        counted: tuple[Aggregator, ...],
        returns: bool,
        marks: bool,
        holds: bool,
        blocks: bool = False,
        ordered: bool = False,
    ) -> None: ...
    def renew(self) -> None: ...
