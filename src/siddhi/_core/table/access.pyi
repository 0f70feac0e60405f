from typing import final

from typing_extensions import Self

from siddhi._core.expression.executor import Executor
from siddhi._core.table.table import Table

class Access:
    @property
    def table(self) -> Table: ...
    @property
    def ordered(self) -> bool: ...
    @property
    def limited(self) -> bool: ...

@final
class KeyAccess(Access):
    def __new__(cls, table: Table, executors: tuple[Executor, ...]) -> Self: ...

@final
class ValueAccess(Access):
    def __init__(self, table: Table, position: int, executor: Executor) -> None: ...

@final
class RangeAccess(Access):
    def __init__(self, table: Table, position: int, bounds: tuple[tuple[Executor, bool, bool], ...]) -> None: ...

@final
class UnionAccess(Access):
    def __init__(self, table: Table, parts: tuple[Access, ...]) -> None: ...

@final
class SmallestAccess(Access):
    def __init__(self, table: Table, parts: tuple[Access, ...]) -> None: ...
