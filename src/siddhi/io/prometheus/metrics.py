"""The metric of a sink: its definition, and what an event does to it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import prometheus_client
from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_summary import Summary as QuantileSummary

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.types import AttributeType

__all__ = ["TYPES", "MetricDefinition", "Registry", "make_metric", "observe"]

TYPES = ("counter", "gauge", "histogram", "summary")
_RESERVED = {"histogram": "le", "summary": "quantile"}
_NUMBERS = (AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE)
_OWNER = "sink 'prometheus'"


class Registry(CollectorRegistry):
    """Metrics without the times at which they were made, which are of interest to OpenMetrics only."""

    def collect(self) -> Iterable[Metric]:
        for metric in super().collect():
            created = f"{metric.name}_created"
            metric.samples = [sample for sample in metric.samples if sample.name != created]
            yield metric


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """A metric; sinks with equal definitions and the same server share one.

    Attributes:
        name: its name.
        type: one of :data:`TYPES`.
        help: its description.
        labels: names of the labels.
        value: the attribute that has the value.
        buckets: upper bounds of a histogram; empty: those of the client library.
        quantiles: quantiles of a summary, each with its error.
    """

    name: str
    type: str
    help: str
    labels: tuple[str, ...]
    value: str
    buckets: tuple[float, ...]
    quantiles: tuple[tuple[float, float], ...]

    @classmethod
    def read(cls, options: OptionHolder, context: ConnectorContext) -> MetricDefinition:
        """Read the options.

        Raises:
            SiddhiAppCreationError: an option or an attribute does not fit.
        """
        type_ = options.choice("metric.type", TYPES)
        name = options.static("metric.name", context.stream)
        if not re.fullmatch("[a-zA-Z_:][a-zA-Z0-9_:]*", name):
            raise SiddhiAppCreationError(
                f"{_OWNER} of stream '{context.stream}': '{name}' can't be the name of a metric",
                code="E326",
                hint="set metric.name to letters, digits, _ and :",
            )
        value = options.static("value.attribute", "value")
        types = dict(context.attributes)
        if types.get(value) not in _NUMBERS:
            raise SiddhiAppCreationError(
                f"{_OWNER} needs a number in the attribute '{value}' of stream '{context.stream}'",
                code="E326",
                hint="name the attribute with the value of the metric in value.attribute",
            )
        labels = tuple(label for label, _ in context.attributes if label != value)
        for label in labels:
            if not re.fullmatch("(?!__)[a-zA-Z_][a-zA-Z0-9_]*", label) or label == _RESERVED.get(type_):
                raise SiddhiAppCreationError(
                    f"{_OWNER}: attribute '{label}' of stream '{context.stream}' can't be a label of a {type_}",
                    code="E326",
                    hint="rename it",
                )
        for option, owner in (("buckets", "histogram"), ("quantiles", "summary"), ("quantile.error", "summary")):
            if option in options and type_ != owner:
                raise options.invalid(option, f"metric.type = '{owner}' beside it")
        error = options.number("quantile.error", 0.001)
        quantiles = _numbers(options, "quantiles")
        if any(not 0 < quantile < 1 for quantile in quantiles):
            raise options.invalid("quantiles", "numbers between 0 and 1, separated by commas")
        if not 0 < error < 1:
            raise options.invalid("quantile.error", "a number between 0 and 1")
        buckets = _numbers(options, "buckets")
        if list(buckets) != sorted(set(buckets)):
            raise options.invalid("buckets", "numbers that grow, separated by commas")
        return cls(
            name=name,
            type=type_,
            help=options.static("metric.help", f"{name}_{type_}"),
            labels=labels,
            value=value,
            buckets=buckets,
            quantiles=tuple((quantile, error) for quantile in quantiles),
        )


def _numbers(options: OptionHolder, name: str) -> tuple[float, ...]:
    parts = [part for part in options.static(name, "").split(",") if part.strip()]
    try:
        return tuple(float(part) for part in parts)
    except ValueError:
        raise options.invalid(name, "numbers, separated by commas") from None


def make_metric(definition: MetricDefinition, registry: CollectorRegistry) -> Any:
    """Return a metric of the client library, in a registry.

    Raises:
        ValueError: the registry has another metric of this name.
    """
    given: dict[str, Any] = {"documentation": definition.help, "labelnames": definition.labels, "registry": registry}
    if definition.type == "counter":
        return prometheus_client.Counter(definition.name, **given)
    if definition.type == "gauge":
        return prometheus_client.Gauge(definition.name, **given)
    if definition.type == "histogram":
        buckets = definition.buckets or prometheus_client.Histogram.DEFAULT_BUCKETS
        return prometheus_client.Histogram(definition.name, **given, buckets=buckets)
    if definition.quantiles:
        return QuantileSummary(definition.name, **given, invariants=definition.quantiles)
    return prometheus_client.Summary(definition.name, **given)


def observe(definition: MetricDefinition, metric: Any, payload: Any) -> None:
    """Change a metric by a payload.

    Raises:
        MappingFailedError: the payload has no value, or one by which a counter would decrease.
    """
    if not isinstance(payload, dict):
        raise MappingFailedError(f"expected a dict, got {type(payload).__name__}")
    value = payload.get(definition.value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MappingFailedError(f"'{definition.value}' is not a number: {value!r}")
    if definition.labels:
        texts = []
        for label in definition.labels:
            if label not in payload:
                raise MappingFailedError(f"the payload has no '{label}'")
            found = payload[label]
            # Prometheus takes an empty label for one that is absent.
            texts.append("" if found is None else str(found).lower() if isinstance(found, bool) else str(found))
        metric = metric.labels(*texts)
    if definition.type == "gauge":
        metric.set(value)
    elif definition.type == "counter":
        if not 0 <= value < math.inf:
            raise MappingFailedError(f"a counter can't be increased by {value}")
        metric.inc(value)
    else:
        metric.observe(value)
