"""Resolve expressions: names become positions, operators get their types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from siddhi.planner.bind.calls import call
from siddhi.planner.bind.operators import (
    arithmetic,
    comparison,
    conjunction,
    constant,
    disjunction,
    negation,
    require_bool,
)
from siddhi.planner.bind.query_parameters import parameter, with_types
from siddhi.planner.bind.scope import RowScope, Scope
from siddhi.planner.plan.expressions import Call, Const, InTable, IsNull, IsNullEvent, TypedExpression
from siddhi.planner.problems import out_of_scope, unknown_definition
from siddhi.query_api import expression as api
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["Resolver"]


class Resolver:
    """Resolves expressions in one scope.

    Args:
        catalog: tables (for ``in``), script functions and extensions.
        scope: the meaning of names.
    """

    def __init__(self, catalog: Catalog, scope: Scope) -> None:
        self.catalog = catalog
        self.scope = scope

    def __call__(self, expression: api.Expression) -> TypedExpression:
        """Return the typed expression.

        Raises:
            SiddhiAppError: a name is unknown, or types do not match.
        """
        # Operators are left-associative: a loop walks down their chains, since generated ones have thousands of operators.
        chain: list[api.Expression] = []
        while isinstance(expression, (api.Math, api.Compare, api.And, api.Or)):
            chain.append(expression)
            expression = expression.left
        typed = _RULES[type(expression)](self, expression)
        while chain:
            node = chain.pop()
            typed = _OPERATORS[type(node)](self, node, typed)
        return typed

    def condition(self, what: str, expression: api.Expression, at: Node | None = None) -> TypedExpression:
        """Return the typed expression, which must be a bool; ``what`` names it in the message."""
        return require_bool(
            what, self.as_bool(self(expression)), at if expression.span is None and at is not None else expression
        )

    def as_bool(self, expression: TypedExpression) -> TypedExpression:
        """Return an expression where a bool is needed; a parameter of unknown type becomes one."""
        known = self.catalog.parameters
        return expression if known is None else known.typed(expression, AttributeType.BOOL)


def _variable(resolve: Resolver, node: api.Variable) -> TypedExpression:
    return resolve.scope.attribute(node)


def _math(resolve: Resolver, node: api.Math, left: TypedExpression) -> TypedExpression:
    """Bind arithmetic; an object operand is cast to the type of the other operand."""
    left, right = with_types(resolve.catalog, left, resolve(node.right), node)
    if left.type is AttributeType.OBJECT and right.type.is_numeric:
        left = _cast_to(resolve, left, right.type)
    elif right.type is AttributeType.OBJECT and left.type.is_numeric:
        right = _cast_to(resolve, right, left.type)
    return arithmetic(node, left, right)


def _cast_to(resolve: Resolver, operand: TypedExpression, type_: AttributeType) -> TypedExpression:
    cast = resolve.catalog.registry.function(None, "cast")
    return operand if cast is None else Call(type_, cast, (operand, Const(AttributeType.STRING, type_.value)))


def _compare(resolve: Resolver, node: api.Compare, left: TypedExpression) -> TypedExpression:
    left, right = with_types(resolve.catalog, left, resolve(node.right), node)
    return comparison(node, left, right)


def _and(resolve: Resolver, node: api.And, left: TypedExpression) -> TypedExpression:
    return conjunction(node, resolve.as_bool(left), resolve.as_bool(resolve(node.right)))


def _or(resolve: Resolver, node: api.Or, left: TypedExpression) -> TypedExpression:
    return disjunction(node, resolve.as_bool(left), resolve.as_bool(resolve(node.right)))


def _not(resolve: Resolver, node: api.Not) -> TypedExpression:
    return negation(node, resolve.as_bool(resolve(node.expression)))


def _is_null(resolve: Resolver, node: api.IsNull) -> TypedExpression:
    """Bind ``x is null``: a bare name of a source in scope tests its event, anything else tests a value."""
    operand = node.expression
    if isinstance(operand, api.Variable) and operand.source is None:
        slot = resolve.scope.event_slot(operand.name)
        if slot is not None:
            return IsNullEvent(AttributeType.BOOL, slot)
    return IsNull(AttributeType.BOOL, resolve(operand))


def _is_null_stream(resolve: Resolver, node: api.IsNullStream) -> TypedExpression:
    label = ("#" if node.is_inner else "!" if node.is_fault else "") + node.source
    slot = resolve.scope.event_slot(label)
    if slot is None:
        raise out_of_scope(label, [], node)
    return IsNullEvent(AttributeType.BOOL, slot, node.index)


def _in(resolve: Resolver, node: api.In) -> TypedExpression:
    table = resolve.catalog.tables.get(node.table)
    if table is None:
        raise unknown_definition("table", node.table, resolve.catalog.tables, node)
    # A condition reads one row: inside 'in', that of the table after it.
    events = resolve.scope.events if isinstance(resolve.scope, RowScope) else resolve.scope
    scope = RowScope((table.id,), table.attributes, what=f"table '{table.id}'", events=events)
    inner = Resolver(resolve.catalog, scope)
    return InTable(AttributeType.BOOL, table.id, inner.condition("the condition before 'in'", node.expression, node))


_RULES: dict[type[api.Expression], Callable[[Resolver, Any], TypedExpression]] = {
    api.Constant: lambda _resolve, node: constant(node),
    api.Variable: _variable,
    api.QueryParameter: lambda resolve, node: parameter(resolve.catalog, node),
    api.Not: _not,
    api.IsNull: _is_null,
    api.IsNullStream: _is_null_stream,
    api.In: _in,
    api.FunctionCall: call,
}

_OPERATORS: dict[type[api.Expression], Callable[[Resolver, Any, TypedExpression], TypedExpression]] = {
    api.Math: _math,
    api.Compare: _compare,
    api.And: _and,
    api.Or: _or,
}
"""Rules that take the resolved left operand."""
