"""The aggregators first, last, percentile, median and ema, with and without a namespace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import AggregatorMetadata, ExtensionMetadata, Overload, Parameter
from siddhi.library.operators.statistics import Ema, First, Last, Median, Percentile
from siddhi.library.type_sets import ANY, DOUBLE, INT, NUMERIC
from siddhi.types import AttributeType

__all__ = ["PERCENTILE", "PLAIN", "STATS"]


def _same(types: Sequence[AttributeType], _constants: Sequence[Any]) -> AttributeType:
    return types[0]


def _check_percent(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if not 0 < constants[1] <= 100:
        raise ValueError(f"invalid percentile {constants[1]}: expected a number above 0, at most 100.0")


def _check_period(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if constants[1] < 1:
        raise ValueError(f"invalid period {constants[1]} of ema(): expected 1 or more")


def _percentile(namespace: str | None) -> AggregatorMetadata:
    return AggregatorMetadata(
        name="percentile",
        namespace=namespace,
        implementation=Percentile,
        overloads=(
            Overload(
                (
                    Parameter("arg", NUMERIC),
                    Parameter("p", DOUBLE, dynamic=False, description="above 0.0, at most 100.0"),
                )
            ),
        ),
        returns=AttributeType.DOUBLE,
        any_order=True,
        check=_check_percent,
        description="The p-th percentile of the numbers, interpolated between the values at p/100 * (n + 1); null where there "
        "are none.",
        example=f"from S#window.length(100) select {'' if namespace is None else 'math:'}percentile(price, 95.0) as x insert into O;",
    )


def _median(namespace: str | None) -> AggregatorMetadata:
    return AggregatorMetadata(
        name="median",
        namespace=namespace,
        implementation=Median,
        overloads=(Overload((Parameter("data", NUMERIC),)),),
        returns=AttributeType.DOUBLE,
        any_order=True,
        description="The median of the numbers; null where there are none.",
        example=f"from S#window.length(100) select {'' if namespace is None else 'stats:'}median(price) as x insert into O;",
    )


PERCENTILE = _percentile("math")
STATS: tuple[ExtensionMetadata, ...] = (_median("stats"),)
PLAIN: tuple[ExtensionMetadata, ...] = (
    AggregatorMetadata(
        name="first",
        implementation=First,
        overloads=(Overload((Parameter("value", ANY),)),),
        returns=_same,
        description="The value of the first of the current events; null may be one.",
        example="from S#window.length(10) select first(price) as opening insert into O;",
    ),
    AggregatorMetadata(
        name="last",
        implementation=Last,
        overloads=(Overload((Parameter("value", ANY),)),),
        returns=_same,
        description="The value of the last of the current events; null may be one.",
        example="from S#window.length(10) select last(price) as closing insert into O;",
    ),
    _median(None),
    _percentile(None),
    AggregatorMetadata(
        name="ema",
        implementation=Ema,
        overloads=(
            Overload((Parameter("value", NUMERIC), Parameter("period", INT, dynamic=False, description="1 or more"))),
        ),
        returns=AttributeType.DOUBLE,
        check=_check_period,
        description="The exponential moving average of all numbers since the last reset, expired events included: each has the "
        "weight 2 / (period + 1).",
        example="from S select ema(price, 12) as average insert into O;",
    ),
)
