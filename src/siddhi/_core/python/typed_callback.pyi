from collections.abc import Callable
from typing import Any, final

from siddhi._core.record.event import EventPool, Layout
from siddhi._core.record.row_maker import TypedRowMaker
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Receiver

@final
class TypedCallback(Receiver):
    def __init__(
        self,
        app: AppContext,
        pool: EventPool,
        layout: Layout,
        stream: str,
        function: Callable[[list[Any]], object],
        maker: TypedRowMaker[Any],
    ) -> None: ...
