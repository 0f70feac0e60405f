"""Decide which queries and aggregations run as Catalyst plans, and in which form."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from siddhi.planner.plan.aggregations import AggregationPlan, BaseKind
from siddhi.planner.plan.expressions import Aggregate, Attr, Call, Const, TypedExpression
from siddhi.planner.plan.nodes import (
    Action,
    FilterPlan,
    JoinPlan,
    OnErrorAction,
    Plan,
    QueryPlan,
    SelectorPlan,
    SingleInputPlan,
    SourceKind,
)
from siddhi.planner.plan.walk import walk
from siddhi.query_api.input import JoinType, Trigger
from siddhi.query_api.selection import OutputEventType
from siddhi.spark.plan.catalyst_expressions import why_not_catalyst
from siddhi.types import AttributeType

__all__ = ["CatalystForm", "Form", "catalyst_aggregation", "catalyst_query"]

_TUMBLING = {"timeBatch", "externalTimeBatch"}
_AGGREGATORS = {"sum", "count", "avg", "min", "max"}
_BASES = {BaseKind.COUNT, BaseKind.SUM, BaseKind.MINIMUM, BaseKind.MAXIMUM, BaseKind.LATEST, BaseKind.DISTINCT}
_FLOATING = (AttributeType.FLOAT, AttributeType.DOUBLE)


class Form(Enum):
    """The form of a Catalyst stage."""

    PROJECTION = "filter and projection"
    TABLE_JOIN = "broadcast join"
    TUMBLING = "tumbling group-by"
    AGGREGATION = "aggregation by bucket"


@dataclass(frozen=True, slots=True)
class CatalystForm:
    """A Catalyst form. ``float_sums``: it sums floating-point numbers, so its results depend on the order of rows."""

    kind: Form
    float_sums: bool = False


@dataclass(frozen=True, slots=True)
class _Reason(Exception):  # noqa: N818 - it carries the answer "not native, because"
    text: str


def catalyst_query(
    query: QueryPlan, plan: Plan, *, read_only: Collection[str], streaming: bool, exact_floats: bool
) -> CatalystForm | str:
    """Return the Catalyst form of a query, or the reason why the engine runs it.

    Args:
        query: a query outside partitions.
        plan: plan of its app.
        read_only: tables that no query writes.
        streaming: whether the input is a stream; then forms that keep rows or read their source again run in the engine.
        exact_floats: whether sums of floating-point numbers must not depend on Spark's order of addition.
    """
    try:
        return _form(query, plan, read_only, streaming, exact_floats)
    except _Reason as reason:
        return reason.text


def catalyst_aggregation(aggregation: AggregationPlan, *, streaming: bool, exact_floats: bool) -> CatalystForm | str:
    """Return the Catalyst form of an incremental aggregation, or the reason why the engine runs it."""
    try:
        if streaming:
            raise _Reason("an aggregation of a stream keeps state")
        if aggregation.limit is not None:
            raise _Reason("its @limit")
        if aggregation.zone not in ("GMT", "UTC"):
            raise _Reason(f"its time zone is {aggregation.zone}")
        _single(aggregation.input)
        floating = False
        for base in aggregation.base_values:
            if base.kind not in _BASES:
                raise _Reason(f"the base value '{base.kind.value}'")
            if base.argument is not None:
                _require_catalyst(base.argument)
                _timeless(base.argument, "for each event")
                floating |= base.kind is BaseKind.SUM and base.argument.type in _FLOATING
        for output in aggregation.outputs:
            if output.expression is not None:
                _require_catalyst(output.expression)
        for key in aggregation.group_by:
            _require_catalyst(key)
        if floating and exact_floats:
            raise _Reason("exact_floats=True: Spark's order of addition differs")
    except _Reason as reason:
        return reason.text
    return CatalystForm(Form.AGGREGATION, floating)


def _form(
    query: QueryPlan, plan: Plan, read_only: Collection[str], streaming: bool, exact_floats: bool
) -> CatalystForm:
    output, selector = query.output, query.selector
    if output.action is not Action.INSERT or output.kind is not SourceKind.STREAM:
        raise _Reason(f"its output is a {output.kind.value}")
    if query.rate is not None:
        raise _Reason("its output rate")
    if query.limit is not None:
        raise _Reason("its @limit")
    if output.event_type is not OutputEventType.CURRENT:
        raise _Reason(f"'insert {output.event_type.value}'")
    for clause, present in (
        ("'order by'", selector.order_by),
        ("'limit'", selector.limit is not None),
        ("'offset'", selector.offset is not None),
    ):
        if present:
            raise _Reason(clause)
    if isinstance(query.input, JoinPlan):
        if streaming:
            raise _Reason("a join of a stream keeps state")
        return _table_join(query.input, selector, plan, read_only)
    if not isinstance(query.input, SingleInputPlan):
        raise _Reason("a pattern keeps state")
    _single(query.input)
    stream = plan.streams[query.input.source]
    if stream.on_error is not OnErrorAction.LOG:
        raise _Reason(f"@OnError of '{stream.id}'")
    if query.input.window is not None:
        if streaming:
            raise _Reason(f"the window '{query.input.window.window.full_name}' keeps state")
        return _tumbling(query.input, selector, exact_floats)
    if selector.has_aggregates or selector.group_by:
        raise _Reason("an aggregate without window keeps state")
    _projection(selector)
    return CatalystForm(Form.PROJECTION)


def _require_catalyst(expression: TypedExpression) -> None:
    reason = why_not_catalyst(expression)
    if reason is not None:
        raise _Reason(reason)


def _timeless(expression: TypedExpression, when: str) -> None:
    if any(isinstance(node, Call) and node.function.reads_clock for node in walk(expression)):
        raise _Reason(f"it reads the clock {when}")


def _single(source: SingleInputPlan) -> None:
    if source.kind is not SourceKind.STREAM:
        raise _Reason(f"its input is a {source.kind.value}")
    for handler in (*source.before, *source.after):
        if not isinstance(handler, FilterPlan):
            raise _Reason(f"the stream function '{handler.function.full_name}'")
        _require_catalyst(handler.condition)


def _projection(selector: SelectorPlan) -> None:
    for column in selector.columns:
        _require_catalyst(column.expression)
    if selector.having is not None:
        _require_catalyst(selector.having)


def _table_join(join: JoinPlan, selector: SelectorPlan, plan: Plan, read_only: Collection[str]) -> CatalystForm:
    sides = (join.left, join.right)
    tables = [slot for slot, side in enumerate(sides) if side.kind is SourceKind.TABLE]
    if len(tables) != 1 or join.reading is not None:
        raise _Reason("a join of streams keeps state")
    table, stream = sides[tables[0]], sides[1 - tables[0]]
    if table.source not in read_only:
        raise _Reason(f"the table '{table.source}' is written by the app")
    if plan.tables[table.source].store is not None:
        raise _Reason(f"the table '{table.source}' is in a store")
    if stream.window is not None or selector.has_aggregates or selector.group_by:
        raise _Reason("an aggregate or window keeps state")
    kept_side = (JoinType.LEFT_OUTER, JoinType.RIGHT_OUTER)[1 - tables[0]]
    if join.type not in (JoinType.INNER, kept_side):
        raise _Reason(f"'{join.type.value}' emits rows of the table")
    if join.trigger is (Trigger.LEFT, Trigger.RIGHT)[tables[0]]:
        raise _Reason("the table is unidirectional")
    _single(stream)
    for handler in (*table.before, *table.after):
        if not isinstance(handler, FilterPlan):
            raise _Reason("a function of a table")
        _require_catalyst(handler.condition)
    if join.on is not None:
        _require_catalyst(join.on)
    _projection(selector)
    return CatalystForm(Form.TABLE_JOIN)


def _tumbling(source: SingleInputPlan, selector: SelectorPlan, exact_floats: bool) -> CatalystForm:
    assert source.window is not None
    window = source.window.window
    if window.builtin not in _TUMBLING:
        raise _Reason(f"the window '{window.full_name}' keeps state")
    arguments = source.window.arguments
    wanted = 2 if window.builtin == "timeBatch" else 3
    constants = arguments[wanted - 2 :]
    if len(arguments) != wanted or not all(isinstance(argument, Const) for argument in constants):
        raise _Reason(f"'{window.full_name}' without start begins with the first event")
    if any(isinstance(argument, Const) and isinstance(argument.value, bool) for argument in constants):
        raise _Reason(f"'{window.full_name}' that emits current events at once")
    if window.builtin == "externalTimeBatch":
        raise _Reason("its periods end with an event of any group")
    if source.after:
        raise _Reason("a filter after the window")
    if selector.having is not None:
        raise _Reason("'having' after a batch window")
    if not selector.has_aggregates:
        raise _Reason("a batch window without aggregates emits every event")
    floating = False
    for column in selector.columns:
        floating |= _tumbling_column(column.expression)
    for key in selector.group_by:
        _require_catalyst(key)
        _timeless(key, "at the end of the batch")
    if floating and exact_floats:
        raise _Reason("exact_floats=True: Spark's order of addition differs")
    return CatalystForm(Form.TUMBLING, floating)


def _tumbling_column(expression: TypedExpression) -> bool:
    """Return whether a column sums floating-point numbers."""
    if isinstance(expression, Attr):
        _require_catalyst(expression)
        return False
    if not isinstance(expression, Aggregate):
        raise _Reason("a column that is neither an aggregate nor an attribute")
    name = expression.aggregator.full_name
    if name not in _AGGREGATORS:
        raise _Reason(f"the aggregator '{name}'")
    for argument in expression.arguments:
        if any(isinstance(node, Aggregate) for node in walk(argument)):
            raise _Reason("an aggregate inside an aggregate")
        _require_catalyst(argument)
        _timeless(argument, "at the end of the batch")
    return name in ("sum", "avg") and expression.arguments[0].type in _FLOATING
