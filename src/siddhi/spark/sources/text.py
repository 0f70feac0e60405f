"""Parse text as values of attributes: invalid text is refused with its column and location, and never becomes null."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from siddhi.query_api.definition import Attribute
from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.types import AttributeType

__all__ = ["BAD", "EMPTY", "EVENT_TIME", "Text", "typed_rows"]

BAD = "__unreadable"
"""Column in which Spark stores an invalid record."""
EMPTY = "\ue000siddhi:empty\ue000"
"""Stands for ``""`` in Spark's CSV reader, which differs from null; no cell has this text."""
EVENT_TIME = "__event_time"
"""Event time in ms, if it is not an attribute."""
_IN_WORDS = {
    AttributeType.INT: "an int (-2147483648 to 2147483647)",
    AttributeType.LONG: "a long",
    AttributeType.FLOAT: "a float",
    AttributeType.DOUBLE: "a double",
    AttributeType.BOOL: "a bool (true or false)",
}
_TIME_IN_WORDS = "a time (milliseconds since 1970, or ISO 8601 such as 2013-03-04T05:17:00Z)"
_INTEGERS = r"^[ \t]*-?[0-9]+[ \t]*\z"
"""Integers; ``$`` would accept a line break."""
_HEXADECIMAL = r"^[ \t]*0[xX][0-9a-fA-F]{{1,{digits}}}[ \t]*\z"
_JAVA_ONLY = r"[0-9.][dDfF][ \t]*\z|[xX]|[\x00-\x08\x0a-\x1f\x7f]"
"""Numbers that only Java reads: ``1f``, ``0x1p3``, and numbers with line breaks around them."""
_NOT_A_NUMBER = r"(?i)^[ \t]*[+-]nan[ \t]*\z"
_BLANKS = r"(?U)^\s+|\s+\z"
_INSTANT = r"^\d{4}-\d\d-\d\d([ T]\d\d(:\d\d(:\d\d(\.\d{1,9})?)?)?(Z|[+-]\d\d(:?\d\d)?)?)?\z"
"""A date, or a date and time; Spark accepts more, such as ``03:04:05`` of today."""
_ZONE = r"^.{11}[^Z+-]*(Z|[+-].*)\z"
_MIDNIGHT = "0000-00-00T00:00:00"
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Text:
    """The source of text, and the policy for invalid text.

    Attributes:
        what: the stream in messages.
        location: location of a row: the file, or the message.
        mode: ``FAILFAST`` fails the query, ``DROPMALFORMED`` drops the row, ``PERMISSIVE`` makes the value null, except the
            event time, without which a row has no position: the query fails.
        time: column of event time, if it is not an attribute.
        timed: the attribute with the event time.
        has_empty: whether :data:`EMPTY` stands for the empty string.
        is_json: whether numbers are those of JSON, which has no hexadecimal numbers and no infinity.
    """

    what: str
    location: Column
    mode: str = "FAILFAST"
    time: str | None = None
    timed: str | None = None
    has_empty: bool = False
    is_json: bool = False


def typed_rows(
    raw: DataFrame,
    text: Text,
    attributes: Sequence[Attribute],
    *,
    numbers: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> DataFrame:
    """Return rows of strings as rows of a stream.

    Args:
        raw: a column of strings per attribute, and :data:`BAD`.
        numbers: other columns, of integers.
        keep: other columns, which stay as they are.
    """
    wanted = dict.fromkeys(numbers, AttributeType.LONG)
    wanted |= {a.name: a.type for a in attributes if a.type is not AttributeType.OBJECT}  # refused when bound
    values, problems = [], [F.when(F.col(BAD).isNotNull(), _said(None, F.col(BAD), "a record of these columns"))]
    for name, kind in wanted.items():
        cell = F.col(f"`{name}`")
        if kind is AttributeType.STRING:
            value = F.when(cell == EMPTY, F.lit("")).otherwise(cell) if text.has_empty else cell
        else:
            value = _parsed(cell, kind, is_json=text.is_json)
            problems.append(F.when(cell.isNotNull() & value.isNull(), _said(name, cell, _IN_WORDS[kind])))
        values.append(value.alias(name))
    if text.timed is not None:
        missing = F.lit(f", column '{text.timed}': a row has no event time")
        problems.append(F.when(F.col(f"`{text.timed}`").isNull(), missing))
    if text.time is not None:
        cell = F.col(f"`{text.time}`")
        instant = _instant(cell)
        missing = F.lit(f", column '{text.time}': a row has no event time")
        problems.append(F.when(cell.isNull(), missing).when(instant.isNull(), _said(text.time, cell, _TIME_IN_WORDS)))
        values.append(instant.alias(EVENT_TIME))
    problem, mode = F.coalesce(*problems), text.mode.upper()
    if mode == "FAILFAST":
        message = F.concat(F.lit(f"{text.what}: "), text.location, problem)
        raw = raw.where(F.when(problem.isNull(), _seen()).otherwise(F.raise_error(message).cast("boolean")))
    else:
        raw = raw.where(_seen() & problem.isNull() if mode == "DROPMALFORMED" else _seen())
    return raw.select(*values, *(F.col(f"`{name}`") for name in keep))


def _seen() -> Column:
    """Return a condition that is always true but opaque: otherwise Spark pushes later filters into its reader, which drops records."""
    return F.spark_partition_id() >= 0


def _parsed(cell: Column, kind: AttributeType, *, is_json: bool) -> Column:
    if kind is AttributeType.BOOL:
        return F.when(cell.isin("true", "True", "TRUE", "false", "False", "FALSE"), cell.try_cast("boolean"))
    value = cell.try_cast(SPARK_TYPES[kind])
    if kind in (AttributeType.FLOAT, AttributeType.DOUBLE):
        exact = F.when(~cell.rlike(_JAVA_ONLY), value)
        if is_json:
            beyond = cell.rlike("[0-9]") & (F.abs(cell.try_cast("double")) == float("inf"))
            return F.when(~F.coalesce(beyond, F.lit(False)), exact)
        return F.coalesce(exact, F.when(cell.rlike(_NOT_A_NUMBER), F.lit(float("nan")).cast(SPARK_TYPES[kind])))
    exact = F.when(cell.rlike(_INTEGERS), value)
    return exact if is_json else F.coalesce(exact, _hexadecimal(cell, kind))


def _hexadecimal(cell: Column, kind: AttributeType) -> Column:
    """Return the number of ``0x10``; the digits are its bits, so ``0xFFFFFFFF`` is the int -1."""
    is_int = kind is AttributeType.INT
    digits = F.regexp_replace(cell, r"^[ \t]*0[xX]|[ \t]+\z", "")
    bits = F.conv(digits, 16, -10).try_cast("bigint")
    value = F.shiftright(F.shiftleft(bits, 32), 32).cast("int") if is_int else bits
    return F.when(cell.rlike(_HEXADECIMAL.format(digits=8 if is_int else 16)), value)


def _instant(cell: Column) -> Column:
    """Return the time of milliseconds, or of an ISO 8601 date and time, in UTC by default; otherwise null."""
    text = F.regexp_replace(cell, _BLANKS, "")
    zone = F.regexp_extract(text, _ZONE, 1)
    local = F.substring(text, F.lit(1), F.length(text) - F.length(zone))
    whole = F.concat(local, F.substring(F.lit(_MIDNIGHT), F.length(local) + 1, F.lit(len(_MIDNIGHT))))
    instant = F.concat(whole, F.when(zone == "", "Z").otherwise(zone))
    said = F.when(text.rlike(_INSTANT), F.unix_millis(F.try_to_timestamp(instant)))
    return F.when(text.rlike(_INTEGERS), text.try_cast("bigint")).otherwise(said)


def _said(column: str | None, cell: Column, expected: str) -> Column:
    """Return ``, column 'price': 'x' is not a double``."""
    shown = F.when(F.length(cell) > _SHOWN, F.concat(F.substring(cell, 1, _SHOWN - 3), F.lit("..."))).otherwise(cell)
    before = ": '" if column is None else f", column '{column}': '"
    return F.concat(F.lit(before), F.regexp_replace(shown, EMPTY, ""), F.lit(f"' is not {expected}"))
