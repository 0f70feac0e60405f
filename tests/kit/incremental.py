"""Incremental aggregators for tests: with Python functions, with several arguments, and simple ones."""

from __future__ import annotations

import math

from siddhi import SiddhiManager, extension
from siddhi.extension import BaseAttribute, IncrementalAttributeAggregator, Registry, builtin_registry
from siddhi.query_api import Attribute
from siddhi.types import AttributeType

INT, LONG, FLOAT, DOUBLE = AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE
NUMBERS = (INT, LONG, FLOAT, DOUBLE)

REGISTRY = Registry(builtin_registry())


@extension.function("my:log", args=(DOUBLE,), returns=DOUBLE, registry=REGISTRY)
def log(x: float | None) -> float | None:
    return None if x is None else math.log(x)


@extension.function("my:exp", args=(DOUBLE,), returns=DOUBLE, registry=REGISTRY)
def exp(x: float | None) -> float | None:
    return None if x is None else math.exp(x)


@extension.incremental_aggregator(
    "my:spread", args=(NUMBERS,), returns=lambda types, _constants: types[0], registry=REGISTRY
)
def spread(x: Attribute) -> IncrementalAttributeAggregator:
    """Difference of the greatest and the least value."""
    least = BaseAttribute(f"AGG_MIN_{x.name}", x.type, "min", x.name)
    greatest = BaseAttribute(f"AGG_MAX_{x.name}", x.type, "max", x.name)
    return IncrementalAttributeAggregator((least, greatest), f"{greatest.name} - {least.name}")


@extension.incremental_aggregator("my:geometricMean", args=(DOUBLE,), returns=DOUBLE, registry=REGISTRY)
def geometric_mean(x: Attribute) -> IncrementalAttributeAggregator:
    """Geometric mean of the values that are not null."""
    logs = BaseAttribute(f"AGG_LOGS_{x.name}", DOUBLE, "sum", f"my:log({x.name})")
    values = BaseAttribute(f"AGG_VALUED_{x.name}", LONG, "sum", f"ifThenElse({x.name} is null, 0L, 1L)")
    return IncrementalAttributeAggregator((logs, values), f"my:exp({logs.name} / {values.name})")


@extension.incremental_aggregator("my:weightedMean", args=(NUMBERS, NUMBERS), returns=DOUBLE, registry=REGISTRY)
def weighted_mean(value: Attribute, weight: Attribute) -> IncrementalAttributeAggregator:
    """Weighted mean of the values; nulls are skipped."""
    total = BaseAttribute(
        f"AGG_WEIGHTED_{value.name}_{weight.name}",
        DOUBLE,
        "sum",
        f"convert({value.name}, 'double') * {weight.name}",
    )
    weights = BaseAttribute(
        f"AGG_WEIGHTS_{value.name}_{weight.name}",
        DOUBLE,
        "sum",
        f"ifThenElse({value.name} is null, 0.0, convert({weight.name}, 'double'))",
    )
    return IncrementalAttributeAggregator((total, weights), f"{total.name} / {weights.name}")


def manager() -> SiddhiManager:
    """Return a manager with all of them."""
    made = SiddhiManager()
    for name, found in (
        ("my:log", log),
        ("my:exp", exp),
        ("my:spread", spread),
        ("my:geometricMean", geometric_mean),
        ("my:weightedMean", weighted_mean),
    ):
        made.set_extension(name, found)
    return made
