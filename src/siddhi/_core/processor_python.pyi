from siddhi._core.processor import Processor
from siddhi._core.python_step import PythonStep

class PythonStreamProcessor(Processor):
    def __init__(self, host: PythonStep) -> None: ...
