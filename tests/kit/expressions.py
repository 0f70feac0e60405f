"""Helpers to build executors over one row and evaluate them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection
from typing import Any

from siddhi._core.expression.evaluate import evaluate
from siddhi._core.expression.executor import make_constant, make_variable
from siddhi._core.expression.function import make_function
from siddhi._core.record.event import Layout, TypeCode

STRING, INT, LONG, FLOAT, DOUBLE, BOOL, OBJECT = (
    int(TypeCode[name]) for name in ("STRING", "INT", "LONG", "FLOAT", "DOUBLE", "BOOL", "OBJECT")
)
NUMERIC = (INT, LONG, FLOAT, DOUBLE)
NAMES = {STRING: "string", INT: "int", LONG: "long", FLOAT: "float", DOUBLE: "double", BOOL: "bool", OBJECT: "object"}

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1

Operand = tuple[int, Any]
"""Type code and value."""


def apply(make: Callable[..., Any], *operands: Operand, constants: Collection[int] = (), **event: Any) -> Any:
    """Return the value of ``make(*executors)``: an executor is a constant for the given indexes, else a variable.

    ``event`` are keyword arguments of :func:`siddhi._core.expression.evaluate.evaluate`.
    """
    layout = Layout([f"a{i}" for i in range(len(operands))], [type_ for type_, _ in operands])
    executors = [
        make_constant(value, type_) if i in constants else make_variable(layout, i)
        for i, (type_, value) in enumerate(operands)
    ]
    return evaluate(make(*executors), layout, [value for _, value in operands], **event)


def function(name: str, type_: int, *operands: Operand, **event: Any) -> Any:
    """Return the value of a scalar function."""
    return apply(lambda *arguments: make_function(name, arguments, type_), *operands, **event)


def single(value: float) -> float:
    """Return the number of single precision of a float result, which has the fewest digits that identify it."""
    return float(struct.unpack("f", struct.pack("f", value))[0])
