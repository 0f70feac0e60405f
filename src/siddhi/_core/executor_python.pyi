from collections.abc import Callable

from siddhi._core.executor import Executor

def make_python_function(
    callable: Callable[..., object], arguments: tuple[Executor, ...], type: int, name: str
) -> Executor: ...
