"""Incremental aggregations as one group-by over all rows, in batch."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siddhi.planner.plan.aggregations import AggregationPlan, BaseKind, BaseValue, OutputKind, OutputValue
from siddhi.query_api.definition import Duration
from siddhi.spark.catalyst.expressions import SPARK_TYPES, Lowering
from siddhi.spark.catalyst.frames import TIME, Base, Branch, attribute_column, values_as_order
from siddhi.spark.catalyst.stages import filtered, lowering_over, total
from siddhi.types import AttributeType

__all__ = ["aggregated", "duration_of"]

_LENGTHS = {Duration.SECONDS: 1000, Duration.MINUTES: 60_000, Duration.HOURS: 3_600_000, Duration.DAYS: 86_400_000}
_DAY = 86_400_000
_FLOATING = (AttributeType.FLOAT, AttributeType.DOUBLE)


def duration_of(aggregation: AggregationPlan, per: str) -> Duration:
    """Return the duration that ``'sec'``, ``'hour'``, ``'hours'`` ... name.

    Raises:
        ValueError: the aggregation has no buckets of this duration.
    """
    word = per.strip().lower()
    names = {name: d for d in Duration for name in (d.value, f"{d.value}s", d.name.lower(), d.name.lower()[:-1])}
    found = names.get(word)
    if found not in aggregation.durations:
        kept = ", ".join(duration.value for duration in aggregation.durations)
        raise ValueError(f"aggregation '{aggregation.id}' has no buckets per '{per}': use one of {kept}")
    return found


def aggregated(aggregation: AggregationPlan, branches: Sequence[Branch], duration: Duration) -> DataFrame:
    """Return all rows of an aggregation.

    Args:
        aggregation: an aggregation with a Catalyst form, see :func:`siddhi.spark.plan.catalyst_forms.catalyst_aggregation`.
        branches: rows of its input.
        duration: duration of the buckets.
    """
    width = len(aggregation.input.attributes)
    lowered = []
    sequence = max(branch.base.sequence for branch in branches)
    paths = sorted({branch.path for branch in branches})
    for branch in branches:
        kept = filtered(branch, (*aggregation.input.before, *aggregation.input.after))
        passed = F.lit(paths.index(branch.path)).alias("place")
        columns = (column.alias(f"c{n}") for n, column in enumerate(kept.columns))
        lowered.append(kept.rows(*columns, *kept.base.order(sequence), passed))
    rows = lowered[0]
    for other in lowered[1:]:
        rows = rows.unionByName(other)
    lower = lowering_over([attribute_column(n) for n in range(width)])
    time = F.col(TIME) if aggregation.by is None else lower(aggregation.by)
    values = values_as_order([attribute_column(n) for n in range(width)])
    came = [*Base(rows, None, sequence).order(sequence), F.col("place"), *values]
    order = [time, *came]
    keys = [lower(key).alias(f"g{n}") for n, key in enumerate(aggregation.group_by)]
    bases = [
        _base(base, lower(base.argument) if base.argument is not None else None, order).alias(f"v{base.position}")
        for base in aggregation.base_values
    ]
    # Spark groups -0.0 under 0.0; the engine names the group by the key of its first event.
    bases += [
        F.min_by(F.struct(lower(key).alias("value")), F.struct(*came))["value"].alias(f"first{n}")
        for n, key in enumerate(aggregation.group_by)
        if key.type in _FLOATING
    ]
    grouped = rows.groupBy(_bucket(time, duration).alias("bucket"), *keys).agg(F.count(F.lit(1)).alias("__n"), *bases)
    outputs = [_output(aggregation, output).alias(output.attribute.name) for output in aggregation.outputs]
    return grouped.select(F.col("bucket").alias("AGG_TIMESTAMP"), *outputs)


def _bucket(time: Column, duration: Duration) -> Column:
    """Return the start of the bucket in ms; months and years follow the calendar of GMT, whatever the session's zone."""
    length = _LENGTHS.get(duration)
    if length is not None:
        return time - F.pmod(time, F.lit(length).cast("bigint"))
    days = F.floor((time - F.pmod(time, F.lit(_DAY).cast("bigint"))) / F.lit(_DAY)).cast("int")
    date = F.date_add(F.lit("1970-01-01").cast("date"), days)
    start = F.trunc(date, "month" if duration is Duration.MONTHS else "year")
    return F.unix_date(start).cast("bigint") * F.lit(_DAY).cast("bigint")


def _base(base: BaseValue, value: Column | None, order: Sequence[Column]) -> Column:
    if base.kind is BaseKind.COUNT or value is None:
        return F.count(F.lit(1))
    assert base.argument is not None
    if base.kind is BaseKind.SUM:
        return total(value, base.argument.type)
    if base.kind is BaseKind.MINIMUM:
        return F.min(value)
    if base.kind is BaseKind.MAXIMUM:
        return F.max(value)
    if base.kind is BaseKind.DISTINCT:
        # Null counts as a value, which Spark's aggregates ignore.
        return F.count_distinct(value) + F.max(F.when(value.isNull(), 1).otherwise(0))
    return F.max_by(F.struct(value.alias("value")), F.struct(*order))["value"]


def _output(aggregation: AggregationPlan, output: OutputValue) -> Column:
    kind = SPARK_TYPES[output.attribute.type]
    if output.expression is not None:
        # The expression reads base values only: rows have a column for each.
        return Lowering(lambda attr: F.col(f"v{attr.position}"), F.col("bucket"))(output.expression).cast(kind)
    group = output.position - aggregation.first_group
    if 0 <= group < len(aggregation.group_by):
        name = "first" if aggregation.group_by[group].type in _FLOATING else "g"
        return F.col(f"{name}{group}").cast(kind)
    value = F.col(f"v{output.position}")
    if output.kind is OutputKind.MEAN:
        return (value.cast("double") / F.nullif(F.col(f"v{output.count}").cast("double"), F.lit(0.0))).cast(kind)
    return value.cast(kind)
