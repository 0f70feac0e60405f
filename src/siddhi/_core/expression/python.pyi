from collections.abc import Callable

from siddhi._core.expression.executor import Executor

def make_python_function(
    callable: Callable[..., object], arguments: tuple[Executor, ...], type: int, name: str, nullable: bool = False
) -> Executor: ...
