"""Walking typed expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from siddhi._frozen import replace
from siddhi.planner.plan.expressions import (
    Aggregate,
    And,
    Arithmetic,
    Attr,
    Call,
    Comparison,
    InTable,
    IsNull,
    Not,
    Or,
    ScriptCall,
    TypedExpression,
    Widen,
)

__all__ = [
    "calls_python",
    "children",
    "conjuncts",
    "disjuncts",
    "has_aggregate",
    "read_positions",
    "substitute",
    "walk",
]


def children(expression: TypedExpression) -> tuple[TypedExpression, ...]:
    """The operands or arguments, in order."""
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
    """The expression and everything below it, parents first."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(reversed(children(node)))


def substitute(expression: TypedExpression, by: Callable[[TypedExpression], TypedExpression | None]) -> TypedExpression:
    """The expression with parts of it replaced: those for which ``by`` gives something. Conditions of ``in`` stay."""
    # Chains of operators group to the left; they may be thousands long, so they are walked in a loop.
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
    """The operands of all the ``and`` at the top of a condition, as written; none where there is no condition."""
    return _operands(condition, And)


def disjuncts(condition: TypedExpression | None) -> list[TypedExpression]:
    """The operands of all the ``or`` at the top of a condition."""
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
    """Whether an aggregator is called in it."""
    return any(isinstance(node, Aggregate) for node in walk(expression))


def calls_python(expression: TypedExpression) -> bool:
    """Whether a function written in Python is called in it, which may do anything, sending events included."""
    return any(
        isinstance(node, ScriptCall) or (isinstance(node, Call) and node.function.native is None)
        for node in walk(expression)
    )


def read_positions(expressions: Iterable[TypedExpression], slot: int) -> set[int]:
    """Positions of the attributes of this slot that the expressions read."""
    return {
        node.position
        for expression in expressions
        for node in walk(expression)
        if isinstance(node, Attr) and node.slot == slot
    }
