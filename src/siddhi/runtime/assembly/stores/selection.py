"""On-demand queries that a store runs by itself."""

from __future__ import annotations

from functools import reduce

from siddhi._core.record.event import Layout
from siddhi._core.table.store import StoreAnswer
from siddhi.planner.plan.expressions import OUTPUT_SLOT, TABLE_SLOT, Aggregate, And, Attr, Const, TypedExpression
from siddhi.planner.plan.nodes import SelectorPlan
from siddhi.planner.plan.on_demand import OnDemandPlan
from siddhi.planner.plan.walk import substitute, walk
from siddhi.query_api.selection import Order
from siddhi.runtime.assembly.query import Site
from siddhi.runtime.assembly.stores.expressions import StoreExpressions
from siddhi.runtime.assembly.stores.stores import StoreTable, parameters_of
from siddhi.stores.expression import Attribute, UnsupportedExpressionError
from siddhi.stores.queryable import QueryableRecordTable, Selection
from siddhi.types import AttributeType

__all__ = ["build_store_answer"]

_NOTHING = Const(AttributeType.BOOL, False)


def build_store_answer(plan: OnDemandPlan, table: StoreTable, layout: Layout, site: Site) -> StoreAnswer | None:
    """Compile a query for the store; None if the engine has to select from the rows that the store finds.

    Args:
        plan: a find.
        table: the table.
        layout: names and types of the selected columns.
        site: build context of queries outside of partitions.
    """
    store, runtime = table.store, table.runtime
    if not isinstance(store, QueryableRecordTable):
        return None
    try:
        conditions = [part for part in (plan.condition, _having(plan.selector)) if part is not None]
        on_rows = StoreExpressions(table.attributes, TABLE_SLOT)
        condition = None
        if conditions:
            whole = reduce(lambda left, right: And(AttributeType.BOOL, left, right), conditions)
            condition = store.compile_condition(on_rows.make(whole))
        expressions = StoreExpressions(table.attributes, 0, on_rows.parameters)
        selection = store.compile_selection(_selection(plan.selector, expressions))
    except (UnsupportedExpressionError, RecursionError):
        return None
    return StoreAnswer(
        site.context,
        layout,
        parameters_of(expressions, site.builder({})),
        lambda values: runtime.ask(lambda: list(store.query(condition, selection, values))),
    )


def _having(selector: SelectorPlan) -> TypedExpression | None:
    """Return ``having`` as a condition over the rows.

    Raises:
        UnsupportedExpressionError: there are groups: a condition over rows applies before grouping.
    """
    if selector.having is None:
        return None
    if selector.group_by or selector.has_aggregates:
        raise UnsupportedExpressionError("'having' over groups")
    return substitute(_over_rows(selector, selector.having), _as_table_row)


def _over_rows(selector: SelectorPlan, expression: TypedExpression) -> TypedExpression:
    """Replace reads of output columns by the expressions of the columns."""
    return substitute(
        expression,
        lambda node: (
            selector.columns[node.position].expression if isinstance(node, Attr) and node.slot == OUTPUT_SLOT else None
        ),
    )


def _as_table_row(node: TypedExpression) -> TypedExpression | None:
    return Attr(node.type, TABLE_SLOT, node.position, node.name) if isinstance(node, Attr) and node.slot == 0 else None


def _selection(selector: SelectorPlan, expressions: StoreExpressions) -> Selection:
    """Translate the selection for the store.

    Raises:
        UnsupportedExpressionError: a group selects an attribute of its last row, or another feature of the engine.
    """
    grouped = bool(selector.group_by) or selector.has_aggregates
    keys = [_over_rows(selector, order.key) for order in selector.order_by]
    if grouped:
        _check_groups(selector, [*[column.expression for column in selector.columns], *keys])
    return Selection(
        columns=tuple((column.name, expressions.make(column.expression)) for column in selector.columns),
        group_by=tuple(_attribute(expressions, key) for key in selector.group_by),
        order_by=tuple(
            (expressions.make(key), order.order is Order.DESC)
            for key, order in zip(keys, selector.order_by, strict=True)
        ),
        limit=selector.limit,
        offset=selector.offset or 0,
        aggregates=selector.has_aggregates,
    )


def _attribute(expressions: StoreExpressions, key: Attr) -> Attribute:
    made = expressions.make(key)
    if not isinstance(made, Attribute):
        raise UnsupportedExpressionError("groups by expressions other than attributes")
    return made


def _check_groups(selector: SelectorPlan, shown: list[TypedExpression]) -> None:
    if not selector.group_by and (selector.limit is not None or selector.offset):
        raise UnsupportedExpressionError("'limit' of a single row")
    for expression in shown:
        outside = substitute(expression, lambda node: _NOTHING if isinstance(node, Aggregate) else None)
        for node in walk(outside):
            if isinstance(node, Attr) and node.slot == 0 and node not in selector.group_by:
                raise UnsupportedExpressionError("an attribute of the last row of a group")
