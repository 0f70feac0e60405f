from typing import final

from siddhi._core.stream.junction import StreamJunction

@final
class RowParser:
    def __init__(self, junction: StreamJunction) -> None: ...
