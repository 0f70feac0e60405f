from typing import final

from siddhi._core.aggregator import Aggregator
from siddhi._core.context import AppContext
from siddhi._core.group import GroupWatcher
from siddhi._core.key_limit import KeyLimit
from siddhi._core.selector import Selector

@final
class KeyGate(GroupWatcher):
    @property
    def selector(self) -> Selector: ...
    @property
    def keys(self) -> KeyLimit: ...
    @property
    def values(self) -> KeyLimit: ...
    @property
    def holds(self) -> bool: ...
    @property
    def held(self) -> int: ...
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
    ) -> None: ...
    def renew(self) -> None: ...
