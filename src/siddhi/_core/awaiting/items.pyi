from typing import final

from siddhi._core.record.event import Layout
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Receiver
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.temporal.ingress import TemporalIngress

def item_layout(layout: Layout) -> Layout: ...

@final
class AsyncIngress(TemporalIngress):
    def __init__(self, app: AppContext, target: TemporalIngress, entry: StreamJunction) -> None: ...

@final
class QueuedItems(Receiver):
    def __init__(self, app: AppContext, junction: StreamJunction, ingress: TemporalIngress, items: Layout) -> None: ...
