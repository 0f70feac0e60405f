"""The built-in attribute aggregators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import AggregatorMetadata, Overload, Parameter, ReturnRule
from siddhi.library.type_sets import ANY, BOOL, NUMERIC, OBJECT
from siddhi.types import AttributeType

__all__ = ["AGGREGATORS"]


def _sum_type(types: Sequence[AttributeType], _constants: Sequence[Any]) -> AttributeType:
    return AttributeType.LONG if types[0] in (AttributeType.INT, AttributeType.LONG) else AttributeType.DOUBLE


def _same(types: Sequence[AttributeType], _constants: Sequence[Any]) -> AttributeType:
    return types[0]


def _declare(
    name: str,
    accepted: frozenset[AttributeType],
    returns: ReturnRule,
    description: str,
    *,
    parameter: str = "arg",
    bare: bool = False,
) -> AggregatorMetadata:
    """Return the metadata of an aggregator of one argument, which is optional with ``bare``."""
    one = Overload((Parameter(parameter, accepted),))
    return AggregatorMetadata(
        name=name,
        builtin=name,
        overloads=(Overload(), one) if bare else (one,),
        returns=returns,
        description=description,
        example=f"from S#window.length(10) select {name}({'' if bare else parameter}) as x insert into O;",
    )


AGGREGATORS: tuple[AggregatorMetadata, ...] = (
    _declare("sum", NUMERIC, _sum_type, "The sum of the values that are not null; null where there are none."),
    _declare(
        "avg", NUMERIC, AttributeType.DOUBLE, "The mean of the values that are not null; null where there are none."
    ),
    _declare("count", ANY, AttributeType.LONG, "The number of events, null values included.", bare=True),
    _declare("distinctCount", ANY, AttributeType.LONG, "The number of distinct values; null is one of them."),
    _declare("min", NUMERIC, _same, "The minimum of the current values; null is ignored."),
    _declare("max", NUMERIC, _same, "The maximum of the current values; null is ignored."),
    _declare(
        "minForever", NUMERIC, _same, "The minimum since the last reset, expired events included; null is ignored."
    ),
    _declare(
        "maxForever", NUMERIC, _same, "The maximum since the last reset, expired events included; null is ignored."
    ),
    _declare(
        "stdDev", NUMERIC, AttributeType.DOUBLE, "The population standard deviation; null where there are no values."
    ),
    _declare("and", BOOL, AttributeType.BOOL, "True if at least one current value is true and none is false."),
    _declare("or", BOOL, AttributeType.BOOL, "True if at least one current value is true."),
    _declare("unionSet", OBJECT, AttributeType.OBJECT, "The union of the current sets.", parameter="set"),
)
