from collections.abc import Callable, Iterable
from typing import Any

from typing_extensions import Self

from siddhi._core.expression.executor import Executor

class Regex:
    def __new__(cls, program: Any) -> Self: ...
    @property
    def program(self) -> Any: ...
    @property
    def groups(self) -> int: ...

class Automaton:
    def __new__(cls, pattern: Regex, restarts: bool) -> Self: ...

class Patterns:
    def __init__(self, compile: Callable[[str], Any]) -> None: ...

class RegexExecutor(Executor): ...

def spans(pattern: Regex, text: str, most: int = -1) -> list[tuple[int, ...]]: ...
def split(pattern: Regex, text: str) -> list[str]: ...
def make(
    name: str,
    arguments: tuple[Executor, ...],
    compile: Callable[[str], Any],
    parse_replacement: Callable[[str, int, dict[str, int]], Iterable[str | int]],
) -> Executor: ...
