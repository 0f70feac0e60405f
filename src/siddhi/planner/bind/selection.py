"""Bind the selection: columns, group by, having, order by, limit and offset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.errors import AttributeNotExistError
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.bind.scope import OutputScope, Scope
from siddhi.planner.plan.expressions import Attr, TypedExpression
from siddhi.planner.plan.nodes import OrderPlan, OutputColumn, SelectMode, SelectorPlan
from siddhi.planner.plan.walk import has_aggregate
from siddhi.planner.problems import a_type, check_key, creation_error, duplicate_attribute, located, unsupported_type
from siddhi.query_api.definition import Attribute
from siddhi.query_api.expression import Constant, Variable
from siddhi.query_api.selection import OrderBy, OutputAttribute, Selector
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["output_attributes", "plan_selector"]


def plan_selector(
    catalog: Catalog,
    scope: Scope,
    node: Selector,
    *,
    label: str | None,
    several_inputs: bool = False,
    per_event: bool = False,
    at: Node,
) -> SelectorPlan:
    """Bind a selection.

    Args:
        scope: the scope of the inputs.
        label: the id of the output, which can qualify names in ``having`` and ``order by``.
        several_inputs: ``having`` and ``order by`` can also read the inputs (joins, patterns, stores).
        per_event: whether every event of a chunk is output (snapshot rates).
        at: the location of errors in nodes without a span.

    Raises:
        SiddhiAppError: a name is unknown, or types do not match.
    """
    resolver = Resolver(catalog, scope)
    columns = _columns(resolver, node, at)
    check_key("'group by'", node.group_by, at, others=1)
    group_by = tuple(scope.attribute(variable) for variable in node.group_by)
    having: TypedExpression | None = None
    order_by: tuple[OrderPlan, ...] = ()
    if node.having is not None or node.order_by:
        outputs = OutputScope(
            output_attributes(columns), label=label, inputs=scope if several_inputs else None, functions=scope
        )
        after_select = Resolver(catalog, outputs)
        if node.having is not None:
            having = _explained(scope, lambda: after_select.condition("having", node.having, node))
        order_by = tuple(_order(scope, after_select, order) for order in node.order_by)
    aggregates = any(has_aggregate(column.expression) for column in columns) or (
        having is not None and has_aggregate(having)
    )
    return SelectorPlan(
        columns=columns,
        group_by=group_by,
        having=having,
        order_by=order_by,
        limit=_count("limit", node.limit),
        offset=_count("offset", node.offset),
        mode=_mode(bool(group_by), aggregates, per_event),
        has_aggregates=aggregates,
    )


def output_attributes(columns: tuple[OutputColumn, ...]) -> tuple[Attribute, ...]:
    """Return the output attributes of a selection."""
    return tuple(Attribute(column.name, column.expression.type) for column in columns)


def _mode(grouped: bool, aggregates: bool, per_event: bool) -> SelectMode:
    if per_event:
        return SelectMode.EACH
    if grouped:
        return SelectMode.LAST_PER_GROUP
    return SelectMode.LAST if aggregates else SelectMode.EACH


def _columns(resolver: Resolver, node: Selector, at: Node) -> tuple[OutputColumn, ...]:
    if not node.attributes:
        columns = tuple(OutputColumn(attr.name, attr) for attr in resolver.scope.every_attribute())
        location = located(node, at)
        _refuse_repeated(
            [(column.name, location) for column in columns], " of 'select *'", "list the attributes to select"
        )
        return columns
    named = [(_name(attribute), attribute) for attribute in node.attributes]
    _refuse_repeated(named, "", "rename one of them with 'as'")
    return tuple(OutputColumn(name, resolver(attribute.expression)) for name, attribute in named)


def _name(attribute: OutputAttribute) -> str:
    if attribute.rename is not None:
        return attribute.rename
    if isinstance(attribute.expression, Variable):
        return attribute.expression.name
    raise creation_error("E321", "an expression in select needs a name", attribute, "write <expression> as <name>")


def _refuse_repeated(named: list[tuple[str, OutputAttribute]] | list[tuple[str, Node]], where: str, hint: str) -> None:
    seen: set[str] = set()
    for name, location in named:
        if name in seen:
            raise duplicate_attribute(f"duplicate output attribute '{name}'{where}", location, hint)
        seen.add(name)


def _order(scope: Scope, after_select: Resolver, node: OrderBy) -> OrderPlan:
    key = _explained(scope, lambda: after_select.scope.attribute(node.variable))
    assert isinstance(key, Attr)
    return OrderPlan(key, node.order)


def _explained(scope: Scope, resolve: object) -> TypedExpression:
    """Resolve a name after the selection; add a hint if only the input has it."""
    assert callable(resolve)
    try:
        found = resolve()
    except AttributeNotExistError as error:
        name = error.message.split("'")[1]
        if scope.find(name) is not None:
            error.hint = (
                f"'{name}' is an attribute of the input; 'having' and 'order by' can read only the output of 'select'"
            )
        raise
    assert isinstance(found, TypedExpression)
    return found


def _count(word: str, node: Constant | None) -> int | None:
    """Return the value of ``limit`` or ``offset``."""
    if node is None:
        return None
    if node.type not in (AttributeType.INT, AttributeType.LONG) or not isinstance(node.value, int):
        raise unsupported_type(f"'{word}' takes an int or long literal, not {a_type(node.type)}", node)
    if node.value < 0:
        raise creation_error("E319", f"'{word}' can't be negative ({node.value})", node)
    return node.value
