from siddhi._core.expression.executor import Executor

UNARY: frozenset[str]
BINARY: frozenset[str]
OF_DOUBLE: frozenset[str]
TEXTS: frozenset[str]

def make(name: str, arguments: tuple[Executor, ...], type: int) -> Executor: ...
def make_imbalance(name: str, arguments: tuple[Executor, ...], type: int) -> Executor: ...
