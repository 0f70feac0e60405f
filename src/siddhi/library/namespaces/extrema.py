"""The namespaces ``extrema`` (extreme values and events, frequent values) and ``reorder``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from siddhi.extension.metadata import (
    ExtensionMetadata,
    Overload,
    Parameter,
    StreamProcessorMetadata,
    WindowMetadata,
)
from siddhi.library.namespaces.declare import takes
from siddhi.library.operators import extrema, frequency, turning_points
from siddhi.library.operators.reorder import AKSlack, KSlack
from siddhi.library.type_sets import BOOL, DOUBLE, INT, LONG, NUMERIC, REAL, STRING, TIME, VALUES
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = ["EXTREMA", "REORDER"]

_VALUE = Parameter("attribute", NUMERIC | STRING, description="what to compare; null is left out")


def _check(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if constants[1] <= 0:
        raise ValueError(f"invalid length or duration {constants[1]}: expected a number above 0")


def _check_slack(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if len(constants) > 1 and constants[1] != -1 and constants[1] <= 0:
        raise ValueError(f"invalid timeout {constants[1]} of reorder:kslack(): expected a duration, or -1 for none")
    if len(constants) > 2 and constants[2] < 0:
        raise ValueError(f"invalid max.k {constants[2]} of reorder:kslack(): expected a duration")


def _check_adaptive(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    given: list[Any] = [10_000, -1, 0, False, 0.03, 0.95]
    given[: len(constants) - 2] = constants[2:]
    size, timeout, most, _, error, confidence = given
    if size < 1 or (timeout != -1 and timeout <= 0) or most < 0:
        raise ValueError(
            "invalid batch.size, timeout or max.k of reorder:akslack(): expected a number above 0, a duration or -1, a duration"
        )
    if not (error > 0 and 0 < confidence < 1):
        raise ValueError(
            "invalid error.threshold or confidence.level of reorder:akslack(): expected a number above 0.0, and one between "
            "0.0 and 1.0"
        )


def _check_count(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if any(number <= 0 for number in constants[1:]):
        raise ValueError("invalid k, length or duration: expected a number above 0")
    if constants[-1] > 1000:
        raise ValueError(f"invalid k {constants[-1]}: expected 1000 or less")


def _check_points(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if constants[-1].lower() not in ("min", "max", "minmax"):
        raise ValueError(f"unknown extrema.type '{constants[-1]}'", "the types are min, max and minmax")
    if len(constants) == 6:
        if constants[1] < 1 or constants[2] < 1 or constants[3] < 0 or constants[4] < 0:
            raise ValueError("invalid bound or change: expected a number of events above 0, and a percentage")
    elif constants[-2] < 3 or any(number <= 0 for number in constants[1:-2]):
        raise ValueError("invalid parameter: expected numbers above 0, and a window.size of 3 or more")


def _ranked(prefix: str) -> Callable[[Sequence[AttributeType], Sequence[Any]], tuple[Attribute, ...]]:
    """Return the rule for the attributes: element and frequency of each rank."""

    def appends(types: Sequence[AttributeType], constants: Sequence[Any]) -> tuple[Attribute, ...]:
        return tuple(
            attribute
            for rank in range(1, constants[-1] + 1)
            for attribute in (
                Attribute(f"{prefix}{rank}Element", types[0]),
                Attribute(f"{prefix}{rank}Frequency", AttributeType.LONG),
            )
        )

    return appends


def _frequent(
    name: str, implementation: type, between: tuple[Parameter, ...], which: str, emitted: str, arguments: str
) -> StreamProcessorMetadata:
    prefix = "Top" if name.startswith("top") else "Bottom"
    k = Parameter("k.value", INT, dynamic=False, description="number of values, 1 to 1000")
    return StreamProcessorMetadata(
        name=name,
        namespace="extrema",
        implementation=implementation,
        overloads=(
            Overload((Parameter("attribute", VALUES, description="what is counted; null is left out"), *between, k)),
        ),
        appends=_ranked(prefix),
        clock_driven=hasattr(implementation, "on_timer"),
        check=_check_count,
        description=f"The k {which} frequent values {emitted}: {prefix}1Element and {prefix}1Frequency to {prefix}kElement and "
        f"{prefix}kFrequency, null where there are fewer. Of equally frequent values the one seen first is first.",
        example=f"from S#extrema:{name}({arguments}) select {prefix}1Element, {prefix}1Frequency insert into O;",
    )


_COUNT = (Parameter("window.length", INT, dynamic=False, description="number of events, above 0"),)
_INTERVAL = (Parameter("time.window", TIME, dynamic=False, description="duration, above 0"),)
_ON_CHANGE = "of all events, or of the window before it, emitted with the event that changes them or their counts"
_OF_EACH = "of each n events, emitted with the last of them"
_OF_INTERVAL = "of each interval, emitted at its end with its last event"

FREQUENT: tuple[ExtensionMetadata, ...] = tuple(
    _frequent(name, implementation, between, "most" if name.startswith("top") else "least", emitted, arguments)
    for name, implementation, between, emitted, arguments in (
        ("bottomK", frequency.BottomK, (), _ON_CHANGE, "symbol, 3"),
        ("bottomKLengthBatch", frequency.BottomKLengthBatch, _COUNT, _OF_EACH, "symbol, 100, 3"),
        ("bottomKTimeBatch", frequency.BottomKTimeBatch, _INTERVAL, _OF_INTERVAL, "symbol, 1 sec, 3"),
        ("topK", frequency.TopK, (), _ON_CHANGE, "symbol, 3"),
        ("topKLengthBatch", frequency.TopKLengthBatch, _COUNT, _OF_EACH, "symbol, 100, 3"),
        ("topKTimeBatch", frequency.TopKTimeBatch, _INTERVAL, _OF_INTERVAL, "symbol, 1 sec, 3"),
    )
)

_SIZE = Parameter("window.size", INT, dynamic=False, description="number of events, 3 or more")
_KIND = Parameter("extrema.type", STRING, dynamic=False, description="min, max or minmax")
_NUMBER = Parameter("attribute", NUMERIC, description="the series; null and NaN are left out")
_PERCENT = "percentage of the extremum by which a value there must differ from it"


def _points(
    name: str, implementation: type, parameters: tuple[Parameter, ...], description: str, arguments: str
) -> StreamProcessorMetadata:
    return StreamProcessorMetadata(
        name=name,
        namespace="extrema",
        implementation=implementation,
        overloads=(Overload((_NUMBER, *parameters, _KIND)),),
        appends=(Attribute("extremaType", AttributeType.STRING),),
        check=_check_points,
        description=f"{description} extremaType is min or max.",
        example=f"from S#extrema:{name}({arguments}) select price, extremaType insert into O;",
    )


_MIDDLE = "Emits the event in the middle of the last n events where"
POINTS: tuple[ExtensionMetadata, ...] = (
    _points(
        "kalmanMinMax",
        turning_points.KalmanMinMax,
        (
            Parameter("q", REAL, dynamic=False, description="variance of the steps of the value, above 0.0"),
            Parameter("r", REAL, dynamic=False, description="variance of the measurements, above 0.0"),
            _SIZE,
        ),
        f"{_MIDDLE} their values, smoothed by a Kalman filter, have a local extremum.",
        "price, 0.000001, 0.0001, 25, 'minmax'",
    ),
    _points(
        "kernelMinMax",
        turning_points.KernelMinMax,
        (
            Parameter("bandwidth", REAL, dynamic=False, description="width of the kernel in events, above 0.0"),
            _SIZE,
        ),
        f"{_MIDDLE} their values, smoothed by a Gaussian kernel, have a local extremum.",
        "price, 3.0, 17, 'max'",
    ),
    _points(
        "minMax",
        turning_points.MinMax,
        (
            Parameter("max.pre.bound", INT, dynamic=False, description="number of events before, above 0"),
            Parameter("max.post.bound", INT, dynamic=False, description="number of events after, above 0"),
            Parameter("pre.bound.change", REAL, dynamic=False, description=f"before: {_PERCENT}"),
            Parameter("post.bound.change", REAL, dynamic=False, description=f"after: {_PERCENT}"),
        ),
        "Emits an event whose value is greater (less) than those of the events before it, and not less (greater) than those after "
        "it until one differs enough; it is emitted when that one arrives.",
        "price, 4, 4, 1.0, 2.0, 'minmax'",
    ),
)


def _window(name: str, implementation: type, length: str, what: str, emitted: str, *, batch: bool) -> WindowMetadata:
    return WindowMetadata(
        name=name,
        namespace="extrema",
        implementation=implementation,
        overloads=(Overload((_VALUE, Parameter(length, TIME, dynamic=False, description="above 0"))),),
        batch=batch,
        emits_reset=batch,
        expires_passed=False,
        clock_driven=hasattr(implementation, "on_timer"),
        searchable=True,
        reads_event=True,
        check=_check,
        description=f"The event with the {what}, {emitted}; of equal values the earlier event.",
        example=f"from S#window.extrema:{name}(price, 10) select symbol, price insert into O;",
    )


_SLIDING = "emitted when it changes"
_BATCHED = "emitted at its end"

_WINDOWS: tuple[ExtensionMetadata, ...] = tuple(
    _window(name, implementation, length, f"{what} value of {of}", emitted, batch=batch)
    for name, implementation, length, what, of, emitted, batch in (
        ("maxByLength", extrema.MaxByLength, "sliding.window.length", "greatest", "the last n events", _SLIDING, False),
        ("maxByLengthBatch", extrema.MaxByLengthBatch, "batch.length", "greatest", "each n events", _BATCHED, True),
        ("maxbytime", extrema.MaxByTime, "time.window.length", "greatest", "a time", _SLIDING, False),
        ("maxbytimebatch", extrema.MaxByTimeBatch, "time.batch.length", "greatest", "each interval", _BATCHED, True),
        ("minByLength", extrema.MinByLength, "sliding.window.length", "least", "the last n events", _SLIDING, False),
        ("minByLengthBatch", extrema.MinByLengthBatch, "batch.length", "least", "each n events", _BATCHED, True),
        ("minbytime", extrema.MinByTime, "time.window.length", "least", "a time", _SLIDING, False),
        ("minbytimebatch", extrema.MinByTimeBatch, "time.batch.length", "least", "each interval", _BATCHED, True),
    )
)

EXTREMA: tuple[ExtensionMetadata, ...] = (*FREQUENT, *POINTS, *_WINDOWS)

_STAMP = Parameter("timestamp", LONG, description="the time of the event in ms")
_SLACK = (
    Parameter("timeout", TIME, dynamic=False, description="emits all after this time; -1 (default): never"),
    Parameter("max.k", LONG, dynamic=False, description="limit of k; default: none"),
    Parameter(
        "discard.late.arrival",
        BOOL,
        dynamic=False,
        description="whether events before the one emitted last are dropped; default false",
    ),
)

REORDER: tuple[ExtensionMetadata, ...] = (
    StreamProcessorMetadata(
        name="akslack",
        namespace="reorder",
        implementation=AKSlack,
        overloads=tuple(
            takes(
                _STAMP,
                Parameter("correlation.field", NUMERIC, description="what is aggregated later"),
                optional=(
                    Parameter("batch.size", LONG, dynamic=False, description="number of events; default 10000"),
                    *_SLACK,
                    Parameter(
                        "error.threshold", DOUBLE, dynamic=False, description="relative error of a mean; default 0.03"
                    ),
                    Parameter(
                        "confidence.level", DOUBLE, dynamic=False, description="between 0.0 and 1.0; default 0.95"
                    ),
                ),
            )
        ),
        clock_driven=True,
        check=_check_adaptive,
        description="Buffers events and emits them in order of a time attribute: each when one that is k later has arrived. After each "
        "batch, k becomes the least delay with which enough events arrive for the mean of the correlated field to have an error "
        "below the threshold, with the confidence. In the first batch k grows to the largest delay seen.",
        example="from S#reorder:akslack(ts, price, 1000L) select ts, price insert into O;",
    ),
    StreamProcessorMetadata(
        name="kslack",
        namespace="reorder",
        implementation=KSlack,
        overloads=tuple(takes(_STAMP, optional=_SLACK)),
        clock_driven=True,
        check=_check_slack,
        description="Buffers events and emits them in order of a time attribute: each when one that is k later has arrived. k grows "
        "to the largest delay seen.",
        example="from S#reorder:kslack(ts, 1 sec) select ts, price insert into O;",
    ),
)
