from siddhi._core.python.operators import PythonStep
from siddhi._core.record.event import EventPool
from siddhi._core.window.base import Window

class PythonWindow(Window):
    def __init__(self, host: PythonStep, pool: EventPool, batch: bool, searchable: bool) -> None: ...
