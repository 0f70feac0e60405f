from typing import final

from siddhi._core.context import FaultSink
from siddhi._core.pattern import Pattern
from siddhi._core.processor import Receiver

@final
class PatternEntry(Receiver):
    def __init__(self, pattern: Pattern, stream: int, source: FaultSink, reads: int) -> None: ...
