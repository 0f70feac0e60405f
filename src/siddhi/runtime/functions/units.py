"""The functions of the namespace ``unitconversion``."""

from __future__ import annotations

from siddhi._core.expression.arithmetic import make_arithmetic, make_widen
from siddhi._core.expression.executor import Executor, make_constant
from siddhi._core.record.event import TypeCode
from siddhi.library.namespaces.units import factor

__all__ = ["make"]


def make(name: str, arguments: tuple[Executor, ...], type_: int) -> Executor:
    """Make the executor of a conversion: a multiplication, with its form for blocks."""
    (operand,) = arguments
    if operand.type != TypeCode.DOUBLE:
        operand = make_widen(operand, type_)
    return make_arithmetic("*", operand, make_constant(factor(name), type_))
