"""The built-in incremental aggregators of ``define aggregation``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import IncrementalAggregatorMetadata, Overload, Parameter, ReturnRule
from siddhi.library.type_sets import ANY, NUMERIC, VALUES
from siddhi.types import AttributeType

__all__ = ["INCREMENTAL_AGGREGATORS"]

_FLOATING = frozenset({AttributeType.FLOAT, AttributeType.DOUBLE})


def _sum_type(types: Sequence[AttributeType], _constants: Sequence[Any]) -> AttributeType:
    return AttributeType.DOUBLE if types[0] in _FLOATING else AttributeType.LONG


def _same(types: Sequence[AttributeType], _constants: Sequence[Any]) -> AttributeType:
    return types[0]


def _declare(
    name: str, accepted: frozenset[AttributeType], returns: ReturnRule, description: str, *, bare: bool = False
) -> IncrementalAggregatorMetadata:
    """Return the metadata of an aggregator of one attribute, which is optional with ``bare``."""
    one = Overload((Parameter("arg", accepted, attribute_only=True),))
    return IncrementalAggregatorMetadata(
        name=name,
        builtin=name,
        overloads=(Overload(), one) if bare else (one,),
        returns=returns,
        description=description,
        example=f"define aggregation A from S select {name}({'' if bare else 'arg'}) as x aggregate every sec ... day;",
    )


INCREMENTAL_AGGREGATORS: tuple[IncrementalAggregatorMetadata, ...] = (
    _declare("sum", NUMERIC, _sum_type, "The sum of the values that are not null; null where there are none."),
    _declare(
        "avg",
        NUMERIC,
        AttributeType.DOUBLE,
        "The sum of the values that are not null, divided by the number of events, null values included.",
    ),
    _declare("count", ANY, AttributeType.LONG, "The number of events, null values included.", bare=True),
    _declare("distinctCount", VALUES, AttributeType.LONG, "The number of distinct values; null is one of them."),
    _declare("min", NUMERIC, _same, "The minimum; null is ignored."),
    _declare("max", NUMERIC, _same, "The maximum; null is ignored."),
    _declare(
        "stdDev", _FLOATING, AttributeType.DOUBLE, "The population standard deviation; null where there are no values."
    ),
)
