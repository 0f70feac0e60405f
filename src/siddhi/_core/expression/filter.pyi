from siddhi._core.expression.executor import Executor
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor

class FilterProcessor(Processor):
    def __init__(self, app: AppContext, condition: Executor) -> None: ...
