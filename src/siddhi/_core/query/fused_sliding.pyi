from typing import final

from siddhi._core.query.selector import Selector
from siddhi._core.record.event import Layout

@final
class SlidingAggregate(Selector):
    def over_length(self, length: int) -> None: ...
    def over_time(self, duration_ms: int) -> None: ...
    def over_attribute(self, position: int, layout: Layout, duration_ms: int) -> None: ...
