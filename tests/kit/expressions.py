"""Short ways to build executors over one row and evaluate them."""

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
"""A type code and a value."""


def apply(make: Callable[..., Any], *operands: Operand, constants: Collection[int] = (), **event: Any) -> Any:
    """The value of ``make(*executors)``, an executor per operand: a variable, or a constant where its number says so.

    ``event`` are keywords of :func:`siddhi._core.expression.evaluate.evaluate`.
    """
    layout = Layout([f"a{i}" for i in range(len(operands))], [type_ for type_, _ in operands])
    executors = [
        make_constant(value, type_) if i in constants else make_variable(layout, i)
        for i, (type_, value) in enumerate(operands)
    ]
    return evaluate(make(*executors), layout, [value for _, value in operands], **event)


def function(name: str, type_: int, *operands: Operand, **event: Any) -> Any:
    """The value of a scalar function."""
    return apply(lambda *arguments: make_function(name, arguments, type_), *operands, **event)


def single(value: float) -> float:
    """The number of single precision that a float result stands for: a result shows the fewest digits that name it."""
    return float(struct.unpack("f", struct.pack("f", value))[0])
