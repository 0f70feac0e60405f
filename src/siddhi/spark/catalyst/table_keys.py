"""Check that the bound rows of a table have unique primary keys; the error is the same wherever they are read."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siddhi.planner.plan.nodes import TablePlan
from siddhi.types import AttributeType

__all__ = ["key_of_several", "once_per_key"]

_FLOATING = (AttributeType.FLOAT, AttributeType.DOUBLE)


def _violation(table: TablePlan) -> str:
    """Return the error up to the values of the key."""
    names = ", ".join(table.attributes[position].name for position in table.primary_key)
    return f"table '{table.id}' is bound to several rows with the primary key {names} = "


def once_per_key(frame: DataFrame, table: TablePlan) -> DataFrame:
    """Return the rows of a table, which fail if two share a primary key; null is a key like any other.

    Args:
        frame: a DataFrame with the columns ``c0`` to ``cn``.
        table: plan of the table.
    """
    if not table.primary_key:
        return frame
    keys = [F.col(f"c{position}").alias(f"k{n}") for n, position in enumerate(table.primary_key)]
    # The output must not be a grouping key, nor the error an output column: Spark pushes conditions on those, even null
    # checks, below the count.
    values = [F.first(F.col(f"c{n}")).alias(f"r{n}") for n in range(len(table.attributes))]
    grouped = frame.groupBy(*keys).agg(F.count(F.lit(1)).alias("rows"), F.first(F.struct(*keys)).alias("key"), *values)
    shown = [
        _shown(F.col(f"key.k{n}"), table.attributes[position].type) for n, position in enumerate(table.primary_key)
    ]
    message = F.concat(F.lit(_violation(table)), F.concat_ws(", ", *shown))
    once = F.when(F.col("rows") > 1, F.raise_error(message).cast("boolean")).otherwise(F.lit(True))
    return grouped.where(once).select(*(F.col(f"r{n}").alias(f"c{n}") for n in range(len(table.attributes))))


def _shown(value: Column, type_: AttributeType) -> Column:
    text = value.cast("string")
    if type_ is AttributeType.STRING:
        text = F.concat(F.lit("'"), text, F.lit("'"))
    return F.coalesce(text, F.lit("null"))


def key_of_several(rows: pa.Table, table: TablePlan) -> str | None:
    """Return the error for rows of a table that share a primary key, or None.

    Args:
        rows: rows with a column per attribute.
        table: plan of the table.
    """
    if not table.primary_key:
        return None
    columns = [rows.column(position) for position in table.primary_key]
    floating = [table.attributes[position].type in _FLOATING for position in table.primary_key]
    names = [f"k{n}" for n in range(len(columns))]
    # -0.0 and 0.0 are one key.
    compared = [pc.add(c, pa.scalar(0.0, c.type)) if single else c for c, single in zip(columns, floating, strict=True)]
    counted = pa.table(compared, names=names).group_by(names).aggregate([([], "count_all")])
    several = counted.filter(pc.greater(counted["count_all"], 1))
    if not several.num_rows:
        return None
    return _violation(table) + ", ".join(_text(several[name][0].as_py()) for name in names)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else f"'{value}'" if isinstance(value, str) else str(value)
