import re

from siddhi._core.expression.executor import Executor

PLACE: re.Pattern[str]

def make(name: str, arguments: tuple[Executor, ...], type: int) -> Executor: ...
