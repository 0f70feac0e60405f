from siddhi._core.event import EventPool
from siddhi._core.python_step import PythonStep
from siddhi._core.window import Window

class PythonWindow(Window):
    def __init__(self, host: PythonStep, pool: EventPool, batch: bool, searchable: bool) -> None: ...
