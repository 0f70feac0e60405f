"""Helpers for tests of aggregators: build one over an attribute, and slide values through it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.expression.arithmetic import make_arithmetic
from siddhi._core.expression.executor import Executor, make_constant, make_variable
from siddhi._core.record.event import EventType, Layout, TypeCode
from siddhi.runtime.assembly.expressions import make_aggregator

CURRENT, EXPIRED = int(EventType.CURRENT), int(EventType.EXPIRED)
NUMBERS = (TypeCode.INT, TypeCode.LONG, TypeCode.FLOAT, TypeCode.DOUBLE)
WHOLE = (TypeCode.INT, TypeCode.LONG)


def result_type(name: str, argument: TypeCode | None) -> TypeCode:
    """Return the type of an aggregator's value."""
    if name in ("count", "distinctCount"):
        return TypeCode.LONG
    if name == "sum":
        return TypeCode.LONG if argument in WHOLE else TypeCode.DOUBLE
    if name in ("avg", "stdDev"):
        return TypeCode.DOUBLE
    assert argument is not None
    return argument


class Bench:
    """Build an aggregator of one attribute; ``computed``: of the attribute times 1, which is not a plain cell."""

    def __init__(self, name: str, code: TypeCode, *, removes: bool = True, computed: bool = False) -> None:
        self.layout = Layout(["v"], [code])
        operand: Executor = make_variable(self.layout, 0)
        if computed:
            operand = make_arithmetic("*", operand, make_constant(1, code))
        self.aggregator: Aggregator = make_aggregator(name, (operand,), result_type(name, code), removes)
        self.aggregator.open(0)

    def add(self, value: Any, slot: int = 0) -> Any:
        return self.aggregator.step(self.layout, (value,), CURRENT, slot)

    def remove(self, value: Any, slot: int = 0) -> Any:
        return self.aggregator.step(self.layout, (value,), EXPIRED, slot)

    def slide(self, values: Iterable[Any], length: int) -> list[Any]:
        """Return the value after each event in a length window; the expired event is removed first."""
        held: deque[Any] = deque()
        results = []
        for value in values:
            if len(held) == length:
                self.remove(held.popleft())
            held.append(value)
            results.append(self.add(value))
        return results
