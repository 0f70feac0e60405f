from typing import final

from siddhi._core.aggregator import Aggregator
from siddhi._core.context import AppContext
from siddhi._core.group import GroupBy, GroupWatcher
from siddhi._core.key_limit import KeyLimit

@final
class KeyGate(GroupWatcher):
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
        groups: GroupBy | None,
        keys: KeyLimit,
        values: KeyLimit,
        counted: tuple[Aggregator, ...],
        returns: bool,
        marks: bool,
        holds: bool,
    ) -> None: ...
    def renew(self) -> None: ...
