from typing import final

from siddhi._core.query.selector import Selector
from siddhi._core.snapshot.format import SnapshotReader

@final
class TumblingAggregate(Selector):
    def over_length(self, length: int) -> None: ...
    def over_time(self, duration_ms: int, start_ms: int | None) -> None: ...
    def read_groups(self, partition: int, reader: SnapshotReader) -> None: ...
