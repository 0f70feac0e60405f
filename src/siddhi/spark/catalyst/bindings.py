"""Check the DataFrames that streams and tables are bound to, and make bases of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from siddhi.errors import did_you_mean
from siddhi.query_api.definition import Attribute
from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.spark.catalyst.frames import SEQUENCE, TIME, Base
from siddhi.types import AttributeType

__all__ = [
    "Binding",
    "bound",
    "check_columns",
    "check_kinds",
    "check_sequence",
    "event_time",
    "event_timestamp",
    "in_session_zone",
    "tells_case",
    "with_times",
]

_INTEGRAL = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
_FIRST = -(1 << 63)
_ACCEPTED = {
    AttributeType.INT: (T.ByteType, T.ShortType, T.IntegerType),
    AttributeType.LONG: _INTEGRAL,
    AttributeType.FLOAT: (T.FloatType,),
    AttributeType.DOUBLE: (T.FloatType, T.DoubleType),
    AttributeType.BOOL: (T.BooleanType,),
    AttributeType.STRING: (T.StringType,),
}


@dataclass(frozen=True, slots=True)
class Binding:
    """A stream's DataFrame. ``sequence``: columns that order rows of one ms; ``watermark``: delay of late rows; ``max_idle``: idle
    timeout; ``sources``: their types, if there are several."""

    stream: str
    frame: DataFrame
    timestamp: str
    watermark: str | None = None
    sequence: tuple[str, ...] = ()
    max_idle: str | None = None
    sources: tuple[str, ...] = ()


def check_kinds(what: str, frame: object, **names: object) -> None:
    """Check the types of a binding's arguments.

    Args:
        what: what is bound.
        names: names of columns and intervals by argument; None: not given.

    Raises:
        TypeError: an argument has another type.
    """
    if not isinstance(frame, DataFrame):
        of = f"{type(frame).__module__}.{type(frame).__qualname__}"
        hint = ": convert it with spark.createDataFrame(...)" if of.startswith(("pandas.", "pyarrow.")) else ""
        raise TypeError(f"{what} must be bound to a Spark DataFrame, not to a {of}{hint}")
    for name, value in names.items():
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{what} can't be bound: {name} must be a string, not {value!r}")


def check_columns(what: str, frame: DataFrame, attributes: Sequence[Attribute]) -> None:
    """Check that every attribute has a column of its type.

    Raises:
        ValueError: one has none, or several; the message lists all of them.
    """
    fields = {field.name: field.dataType for field in frame.schema.fields}
    wrong = []
    for attribute in attributes:
        have = fields.get(attribute.name)
        wrong += _ambiguous(frame, attribute.name)
        if attribute.type is AttributeType.OBJECT:
            wrong.append(f"attribute '{attribute.name}' has type object, and no column can")
        elif have is None:
            wrong.append(f"there is no column '{attribute.name}'{did_you_mean(attribute.name, fields)}")
        elif isinstance(have, T.StringType) and have != T.StringType():
            wrong.append(
                f"column '{attribute.name}' has a collation ({have.simpleString()}), and strings compare exactly"
            )
        elif not isinstance(have, _ACCEPTED[attribute.type]):
            want = SPARK_TYPES[attribute.type]
            wrong.append(f"column '{attribute.name}' has type {have.simpleString()}, and the app declares {want}")
    if wrong:
        raise ValueError(f"{what} can't be bound: {'; '.join(wrong)}")


def _ambiguous(frame: DataFrame, name: str) -> list[str]:
    """Return why an existing column is ambiguous; at most one clause."""
    times = frame.columns.count(name)
    if times > 1:
        return [f"there are {times} columns '{name}'"]
    alike = next((c for c in frame.columns if c != name and c.lower() == name.lower()), None)
    if not times or alike is None or tells_case(frame.sparkSession):
        return []
    return [f"columns '{name}' and '{alike}' differ in case only, which needs spark.sql.caseSensitive=true"]


def check_sequence(what: str, frame: DataFrame, names: Sequence[str]) -> None:
    """Check that rows of one ms can be ordered by columns.

    Raises:
        ValueError: a column is missing, ambiguous or not of integers; the message lists all of them.
    """
    fields = {field.name: field.dataType for field in frame.schema.fields}
    wrong = []
    for name in names:
        wrong += _ambiguous(frame, name)
        if name not in fields:
            wrong.append(f"there is no column '{name}' for sequence{did_you_mean(name, fields)}")
        elif not isinstance(fields[name], _INTEGRAL):
            kind = fields[name].simpleString()
            wrong.append(f"column '{name}' of sequence has type {kind}: expected integers, which order rows of one ms")
    if wrong:
        raise ValueError(f"{what} can't be bound: {'; '.join(wrong)}")


def with_times(frame: DataFrame, column: str, what: str) -> DataFrame:
    """Return a frame that fails on rows without event time when the time is read."""
    if not frame.schema[column].nullable:
        return frame
    message = F.lit(f"{what}: a row has no event time in column '{column}'")
    missing = _column(column).isNull()
    return frame.where(F.when(missing, F.raise_error(message).cast("boolean")).otherwise(F.lit(True)))


def event_time(frame: DataFrame, column: str, what: str) -> Column:
    """Return event time in ms; a row without it fails the query.

    Raises:
        ValueError: the column is not a time, or is ambiguous.
    """
    fields = {field.name: field for field in frame.schema.fields}
    if column not in fields:
        raise ValueError(f"{what} can't be bound: there is no column '{column}'{did_you_mean(column, fields)}")
    for problem in _ambiguous(frame, column):
        raise ValueError(f"{what} can't be bound: {problem}")
    kind, value = fields[column].dataType, _column(column)
    if isinstance(kind, T.TimestampType):
        millis = F.unix_millis(value)
    elif isinstance(kind, T.TimestampNTZType):
        millis = F.unix_millis(value.cast("timestamp"))
    elif isinstance(kind, _INTEGRAL):
        millis = value.cast("bigint")
    else:
        raise ValueError(
            f"{what} can't be bound: column '{column}' has type {kind.simpleString()}: expected a timestamp, or a bigint in ms"
        )
    if not fields[column].nullable:
        return millis
    message = F.lit(f"{what}: a row has no event time in column '{column}'")
    return F.coalesce(millis, F.raise_error(message).cast("bigint"))


def in_session_zone(frame: DataFrame, column: str) -> bool:
    """Return whether the times of a column depend on the time zone of the session."""
    return isinstance(frame.schema[column].dataType, T.TimestampNTZType)


def tells_case(spark: SparkSession) -> bool:
    """Return whether column names of a session are case-sensitive."""
    conf = getattr(spark, "conf", None)  # planning alone needs no session
    return conf is not None and str(conf.get("spark.sql.caseSensitive", "false")).lower() == "true"


def event_timestamp(frame: DataFrame, column: str) -> Column:
    """Return event time as Spark's timestamp, for a watermark."""
    value = _column(column)
    if isinstance(frame.schema[column].dataType, _INTEGRAL):
        return F.timestamp_millis(value.cast("bigint"))
    return value.cast("timestamp")


def bound(binding: Binding, attributes: Sequence[Attribute], *, source: int, sequence: int) -> Base:
    """Return the base of a bound stream.

    Args:
        source: position of the stream in the app.
        sequence: number of columns that order rows of one ms; missing ones are 0.
    """
    frame = binding.frame
    columns = [F.col(f"`{a.name}`").cast(SPARK_TYPES[a.type]).alias(f"c{n}") for n, a in enumerate(attributes)]
    time = event_time(frame, binding.timestamp, f"stream '{binding.stream}'").alias(TIME)
    if binding.sequence:
        # Nulls first, in batch and in streams.
        order = [F.coalesce(_column(name).cast("bigint"), F.lit(_FIRST)) for name in binding.sequence]
    else:
        # An arbitrary order, but the same in every attempt and every engine.
        order = [F.xxhash64(*(F.col(f"`{a.name}`").cast(SPARK_TYPES[a.type]) for a in attributes))]
    order += [F.lit(0).cast("bigint")] * (sequence - len(order))
    named = [column.alias(f"{SEQUENCE}{n}") for n, column in enumerate(order)]
    return Base(frame.select(*columns, time, *named), source, sequence)


def _column(name: str) -> Column:
    """Return a column by name, whatever characters the name has."""
    quoted = name.replace("`", "``")
    return F.col(f"`{quoted}`")
