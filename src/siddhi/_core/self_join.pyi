from typing import final

from siddhi._core.output import OutputStage
from siddhi._core.processor import Receiver
from siddhi._core.query import QueryEntry

@final
class SelfJoinEntry(Receiver):
    def __init__(self, left: QueryEntry | None, right: QueryEntry | None, output: OutputStage) -> None: ...
