"""Walk typed expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from siddhi._frozen import replace
from siddhi.planner.plan.expressions import (
    Aggregate,
    And,
    Arithmetic,
    Attr,
    Call,
    Comparison,
    Const,
    EventReference,
    InTable,
    IsNull,
    IsNullEvent,
    Not,
    Or,
    ScriptCall,
    TypedExpression,
    Widen,
)

if TYPE_CHECKING:
    from siddhi.planner.plan.nodes import SelectorPlan

__all__ = [
    "calls_python",
    "children",
    "conjuncts",
    "disjuncts",
    "event_slots",
    "has_aggregate",
    "has_side_effects",
    "read_positions",
    "reads_collected",
    "substitute",
    "walk",
]


_LEAVES = frozenset((Attr, Const))
_BINARY = frozenset((Arithmetic, Comparison, And, Or))
"""The operators of most expressions, in the order of their operands' evaluation."""


def children(expression: TypedExpression) -> tuple[TypedExpression, ...]:
    """Return the operands or arguments, in order."""
    if isinstance(expression, (Arithmetic, Comparison, And, Or)):
        return (expression.left, expression.right)
    if isinstance(expression, (Call, ScriptCall, Aggregate)):
        return expression.arguments
    if isinstance(expression, (Widen, Not, IsNull)):
        return (expression.operand,)
    if isinstance(expression, InTable):
        return (expression.condition,)
    return ()


def walk(expression: TypedExpression) -> Iterator[TypedExpression]:
    """Yield the expression and its descendants, parents first."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        kind = type(node)
        if kind in _LEAVES:
            continue
        if kind in _BINARY:
            pending += (node.right, node.left)  # type: ignore[attr-defined]
        else:
            pending += reversed(children(node))


def substitute(expression: TypedExpression, by: Callable[[TypedExpression], TypedExpression | None]) -> TypedExpression:
    """Return the expression with every node replaced for which ``by`` returns one; conditions of ``in`` stay unchanged."""
    # Operators are left-associative; a loop walks down their chains, which can have thousands of operators.
    above: list[Arithmetic | Comparison | And | Or] = []
    while (found := by(expression)) is None and isinstance(expression, (Arithmetic, Comparison, And, Or)):
        above.append(expression)
        expression = expression.left
    if found is None:
        found = expression
        if isinstance(expression, (Call, ScriptCall, Aggregate)):
            found = replace(expression, arguments=tuple([substitute(part, by) for part in expression.arguments]))
        elif isinstance(expression, (Widen, Not, IsNull)):
            found = replace(expression, operand=substitute(expression.operand, by))
    for node in reversed(above):
        found = replace(node, left=found, right=substitute(node.right, by))
    return found


def conjuncts(condition: TypedExpression | None) -> list[TypedExpression]:
    """Return the operands of the top-level ``and`` of a condition, in order; none for None."""
    return _operands(condition, And)


def disjuncts(condition: TypedExpression | None) -> list[TypedExpression]:
    """Return the operands of the top-level ``or`` of a condition."""
    return _operands(condition, Or)


def _operands(condition: TypedExpression | None, kind: type[And | Or]) -> list[TypedExpression]:
    found: list[TypedExpression] = []
    pending = [] if condition is None else [condition]
    while pending:
        node = pending.pop()
        if isinstance(node, kind):
            pending += (node.right, node.left)
        else:
            found.append(node)
    return found


def has_aggregate(expression: TypedExpression) -> bool:
    """Return whether the expression calls an aggregator."""
    return any(isinstance(node, Aggregate) for node in walk(expression))


def calls_python(expression: TypedExpression) -> bool:
    """Return whether the expression calls a Python function, which can have side effects such as sending events."""
    return any(
        isinstance(node, ScriptCall) or (isinstance(node, Call) and node.function.builtin is None)
        for node in walk(expression)
    )


def has_side_effects(selection: SelectorPlan) -> bool:
    """Return whether the selection calls Python, so that it must be evaluated even without receivers."""
    return any(calls_python(expression) for expression in selection.expressions())


def read_positions(expressions: Iterable[TypedExpression], slot: int) -> set[int]:
    """Return the positions of the attributes of a slot that the expressions read."""
    return {
        node.position
        for expression in expressions
        for node in walk(expression)
        if isinstance(node, Attr) and node.slot == slot
    }


def event_slots(expression: TypedExpression) -> set[int]:
    """Return the slots of the events that the expression reads, without table rows."""
    return {
        node.slot
        for node in walk(expression)
        if isinstance(node, (Attr, EventReference, IsNullEvent)) and node.slot >= 0
    }


def reads_collected(expression: TypedExpression) -> bool:
    """Return whether the expression reads an event that a counting state has collected."""
    return any(isinstance(node, (Attr, IsNullEvent)) and node.index is not None for node in walk(expression))
