from typing import final

from siddhi._core.query.entry import QueryEntry
from siddhi._core.query.output import QueryOutput
from siddhi._core.runtime.operator import Receiver

@final
class SelfJoinEntry(Receiver):
    @property
    def left(self) -> QueryEntry | None: ...
    @property
    def right(self) -> QueryEntry | None: ...
    def __init__(self, left: QueryEntry | None, right: QueryEntry | None, output: QueryOutput) -> None: ...
