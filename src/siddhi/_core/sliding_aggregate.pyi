from typing import final

from siddhi._core.event import Layout
from siddhi._core.selector import Selector

@final
class SlidingAggregate(Selector):
    def over_length(self, length: int) -> None: ...
    def over_time(self, duration_ms: int) -> None: ...
    def over_attribute(self, position: int, layout: Layout, duration_ms: int) -> None: ...
