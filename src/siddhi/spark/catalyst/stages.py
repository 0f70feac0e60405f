"""Catalyst stages: filters and projections as expressions; table joins, tumbling windows and aggregations as operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siddhi.planner.plan.expressions import OUTPUT_SLOT, Aggregate, Attr, Const, TypedExpression
from siddhi.planner.plan.nodes import FilterPlan, HandlerPlan, JoinPlan, QueryPlan, SingleInputPlan, SourceKind
from siddhi.query_api.input import JoinType
from siddhi.spark.catalyst.expressions import SPARK_TYPES, Lowering, matches, wrap_decimal
from siddhi.spark.catalyst.frames import SEQUENCE, TIME, Base, Branch, attribute_column, values_as_order
from siddhi.types import AttributeType

__all__ = ["carried", "filtered", "lowering_over", "project", "table_join", "total", "tumbling"]

_GROUP = "__group"


def lowering_over(columns: Sequence[Column]) -> Lowering:
    """Return a lowering of expressions that read a branch."""
    return Lowering(lambda attr: columns[attr.position], F.col(TIME))


def filtered(branch: Branch, handlers: Sequence[HandlerPlan]) -> Branch:
    """Return a branch after filters."""
    lower = lowering_over(branch.columns)
    condition = branch.condition
    for handler in handlers:
        assert isinstance(handler, FilterPlan)
        kept = matches(lower, handler.condition)
        condition = kept if condition is None else condition & kept
    return Branch(branch.base, branch.columns, condition, branch.path)


def project(query: QueryPlan, branch: Branch, query_index: int) -> Branch:
    """Return a branch after a query that filters and projects; ``query_index``: position of the query in the app."""
    assert isinstance(query.input, SingleInputPlan)
    kept = filtered(branch, (*query.input.before, *query.input.after))
    return _selected(query, kept, lowering_over(kept.columns), query_index)


def _selected(query: QueryPlan, kept: Branch, lower: Lowering, query_index: int) -> Branch:
    columns = tuple(lower(column.expression) for column in query.selector.columns)
    condition = kept.condition
    if query.selector.having is not None:
        inside = lower._attribute

        def either(attr: Attr) -> Column:
            return columns[attr.position] if attr.slot == OUTPUT_SLOT else inside(attr)

        having = matches(Lowering(either, F.col(TIME)), query.selector.having)
        condition = having if condition is None else condition & having
    return Branch(kept.base, columns, condition, (*kept.path, query_index))


def carried(base: Base) -> list[Column]:
    """Return the columns of time and order."""
    order = base.order(base.sequence)
    return order if base.source is None else [order[0], *order[2:]]


def table_join(query: QueryPlan, branch: Branch, query_index: int, table: Callable[[str], DataFrame]) -> Branch:
    """Join a stream with a read-only table, which is broadcast.

    Args:
        table: returns the DataFrame of a table, with the columns ``c0`` to ``cn``.
    """
    join = query.input
    assert isinstance(join, JoinPlan)
    slot = 0 if join.left.kind is SourceKind.TABLE else 1
    side, stream = (join.left, join.right) if slot == 0 else (join.right, join.left)
    left = filtered(branch, (*stream.before, *stream.after))
    streamed = left.rows(*(column.alias(f"s{n}") for n, column in enumerate(left.columns)), *carried(branch.base))
    rows = table(side.source)
    width = len(side.attributes)
    stored = [attribute_column(n) for n in range(width)]
    behind = Branch(Base(rows, 0, 0), tuple(stored))
    rows = filtered(behind, (*side.before, *side.after)).rows(*(stored[n].alias(f"r{n}") for n in range(width)))

    def attribute(attr: Attr) -> Column:
        return F.col(f"{'r' if attr.slot == slot else 's'}{attr.position}")

    lower = Lowering(attribute, F.col(TIME))
    on = F.lit(True) if join.on is None else matches(lower, join.on)
    how = "inner" if join.type is JoinType.INNER else "left"
    joined = Base(streamed.join(F.broadcast(rows), on, how), branch.base.source, branch.base.sequence)
    return _selected(query, Branch(joined, (), None, branch.path), lower, query_index)


# --- group-bys; for Spark and the engine, -0.0 and 0.0 are one key, and so are all NaN


def total(value: Column, type_: AttributeType) -> Column:
    """Return ``sum``: of integers wrapped to a long, of other numbers a double."""
    if type_ is AttributeType.INT:
        return F.sum(value.cast("bigint"))  # overflows after 2^31 rows of the largest int at the earliest
    if type_ is AttributeType.LONG:
        return wrap_decimal(F.sum(value.cast("decimal(38,0)")))
    return F.sum(value.cast("double"))


def _aggregated(expression: Aggregate, lower: Lowering) -> Column:
    name = expression.aggregator.full_name
    if name == "count":
        return F.count(F.lit(1))
    (argument,) = expression.arguments
    value = lower(argument)
    if name == "sum":
        return total(value, argument.type)
    if name == "avg":
        if argument.type is AttributeType.LONG:
            return F.sum(value.cast("double")) / F.nullif(F.count(value), F.lit(0).cast("bigint"))
        return F.avg(value.cast("double"))
    return F.min(value) if name == "min" else F.max(value)


def _latest(value: Column, order: Column) -> Column:
    """Return the value of the last event, null included."""
    return F.max_by(F.struct(value.alias("value")), order)["value"]


def tumbling(query: QueryPlan, branches: Sequence[Branch], query_index: int, *, end: Column | None) -> Branch:
    """Lower ``timeBatch`` with a start, aggregated by group.

    Args:
        end: last event time of all streams in ms; batches that end later are not emitted. None: all are.
    """
    source = query.input
    assert isinstance(source, SingleInputPlan)
    assert source.window is not None
    period, start = (_milliseconds(argument) for argument in source.window.arguments)
    lowered = []
    sequence = max(branch.base.sequence for branch in branches)
    paths = sorted({branch.path for branch in branches})
    for branch in branches:
        kept = filtered(branch, source.before)
        passed = F.lit(paths.index(branch.path)).alias("place")
        columns = (column.alias(f"c{n}") for n, column in enumerate(kept.columns))
        lowered.append(kept.rows(*columns, *branch.base.order(sequence), passed))
    rows = lowered[0]
    for other in lowered[1:]:
        rows = rows.unionByName(other)
    order = [*Base(rows, None, sequence).order(sequence), F.col("place")]
    values = values_as_order([attribute_column(n) for n in range(len(source.attributes))])
    read_keys = {key.position for key in query.selector.group_by}

    def latest(expression: TypedExpression) -> Column:
        # Group keys are the same in each row.
        is_key = isinstance(expression, Attr) and expression.position in read_keys
        return _latest(lower(expression), F.struct(*order, *(() if is_key else values)))

    lower = lowering_over([attribute_column(n) for n in range(len(source.attributes))])
    bucket = _period(rows, period, start).alias("__bucket")
    keys = [lower(key).alias(f"{_GROUP}{n}") for n, key in enumerate(query.selector.group_by)]
    # A column of its own: Spark groups by no expression with a subquery of rows that it takes for nondeterministic, as those of files.
    grouped = (
        rows.select("*", bucket, *keys)
        .groupBy("__bucket", *(f"{_GROUP}{n}" for n in range(len(keys))))
        .agg(
            *(
                (_aggregated(e, lower) if isinstance(e := column.expression, Aggregate) else latest(e))
                .cast(SPARK_TYPES[column.expression.type])
                .alias(f"c{n}")
                for n, column in enumerate(query.selector.columns)
            ),
            F.max(F.col(TIME)).alias("__last"),
        )
    )
    if end is not None:
        grouped = grouped.where(F.col("__bucket") + F.lit(period) <= end)
    width = len(query.selector.columns)
    frame = grouped.select(
        *(attribute_column(n) for n in range(width)),
        F.col("__last").alias(TIME),
        F.lit(0).cast("bigint").alias(f"{SEQUENCE}0"),
    )
    path = (*branches[0].path, query_index)
    return Branch(
        Base(frame, branches[0].base.source or 0, 1), tuple(attribute_column(n) for n in range(width)), None, path
    )


def _period(rows: DataFrame, period: int, start: int) -> Column:
    """Return the start of a row's period. The first period is longer if the start is after the first event."""
    begin = F.col(TIME) - F.pmod(F.col(TIME) - F.lit(start), F.lit(period).cast("bigint"))
    if start <= 0:
        return begin
    first = rows.agg(F.min(F.col(TIME)).alias("first")).scalar()
    ends = first + F.pmod(F.lit(start).cast("bigint") - first, F.lit(period).cast("bigint"))
    return F.when(first < F.lit(start), F.greatest(begin, ends)).otherwise(begin)


def _milliseconds(argument: TypedExpression) -> int:
    assert isinstance(argument, Const)
    assert isinstance(argument.value, int)
    return argument.value
