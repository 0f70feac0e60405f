from collections.abc import Iterable, Sequence
from typing import Any

from siddhi._core.expression.executor import Executor
from siddhi._core.record.event import Layout

def evaluate(
    executor: Executor,
    layout: Layout,
    row: Iterable[Any],
    *,
    timestamp: int = 0,
    type: int = 0,
    clock: int | None = None,
    slots: Sequence[tuple[Layout, Iterable[Any]] | tuple[Layout, Iterable[Any], int] | None] = (),
    output: tuple[Layout, Iterable[Any]] | None = None,
    table_row: tuple[Layout, Iterable[Any]] | None = None,
) -> Any: ...
