"""The built-in windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import Overload, Parameter, Repeat, WindowMetadata
from siddhi.library.type_sets import BOOL, DOUBLE, INT, LONG, NUMERIC, STRING, TIME
from siddhi.types import AttributeType

__all__ = ["WINDOWS"]

Types = Sequence[AttributeType]
Constants = Sequence[Any]


def _literal(name: str, types: frozenset[AttributeType], description: str = "") -> Parameter:
    return Parameter(name, types, dynamic=False, description=description)


def _attribute(name: str, types: frozenset[AttributeType], description: str = "") -> Parameter:
    return Parameter(name, types, attribute_only=True, description=description)


def _check_sort(types: Types, constants: Constants) -> None:
    """Check the arguments after the length: attributes, each with an optional order after it."""
    for position in range(1, len(types)):
        constant = constants[position]
        if constant is None:
            continue
        if constants[position - 1] is not None:
            raise ValueError(f"'{constant}' must follow an attribute", "write it as in sort(5, price, 'desc')")
        if not isinstance(constant, str) or constant.lower() not in ("asc", "desc"):
            raise ValueError(f"{constant!r} is not an order", "use 'asc' or 'desc'")


def _check_session(_types: Types, constants: Constants) -> None:
    if len(constants) == 3 and constants[2] > constants[0]:
        raise ValueError("the allowed latency of a session cannot be greater than its gap")


def _check_batch(_types: Types, constants: Constants) -> None:
    if constants and constants[0] < 0:
        raise ValueError(f"a batch cannot hold {constants[0]} events")


def _check_time_batch(_types: Types, constants: Constants) -> None:
    if constants and constants[0] <= 0:
        raise ValueError(f"a batch cannot last {constants[0]} ms", "write how long a batch lasts, such as 1 sec")


def _check_lossy(_types: Types, constants: Constants) -> None:
    names = ("support.threshold", "error.bound")
    for name, value in zip(names, constants, strict=False):
        if isinstance(value, float) and not 0 < value < 1:
            raise ValueError(f"{name} must be between 0 and 1, not {value}")


_N = _literal("window.length", INT, "the number of events")
_T = _literal("window.time", TIME, "the duration in milliseconds or as a time literal")
_TS = _attribute("timestamp", LONG, "the attribute with the time of the event in milliseconds")
_STREAM = _literal("stream.current.event", BOOL, "whether events pass immediately and expire in batches")
_START = _literal("start.time", TIME, "a time to which the batches are aligned, in milliseconds")
_ORDERED = _attribute("attribute", NUMERIC | STRING, "the attribute to order by")
_ORDER = _literal("order", STRING, "'asc' or 'desc'")
_EXPRESSION = Parameter(
    "expression", STRING, plain=True, description="a condition, as a string literal or a string attribute"
)
_KEY = _attribute("attribute", STRING, "the attribute whose values are counted")
_SUPPORT = _literal("support.threshold", DOUBLE)
_ERROR = _literal("error.bound", DOUBLE)
_GAP = _literal("session.gap", TIME, "a session ends after this time without an event, in milliseconds")
_SESSION_KEY = _attribute("session.key", STRING, "one session per value")
_LATENCY = _literal("allowed.latency", TIME, "how long an ended session accepts late events, in milliseconds")

WINDOWS: tuple[WindowMetadata, ...] = (
    WindowMetadata(
        name="batch",
        builtin="batch",
        overloads=(Overload(), Overload((_N,))),
        check=_check_batch,
        batch=True,
        emits_reset=True,
        description="Each arriving chunk is a batch, or several batches of at most the given length.",
        example="from S#window.batch() select sum(price) as total insert into O;",
    ),
    WindowMetadata(
        name="cron",
        builtin="cron",
        overloads=(Overload((_literal("cron.expression", STRING, "a Quartz cron expression"),)),),
        takes_cron=True,
        batch=True,
        clock_driven=True,
        description="Collects events and releases them as a batch at the times of a cron expression.",
        example="from S#window.cron('*/5 * * * * ?') select price insert into O;",
    ),
    WindowMetadata(
        name="delay",
        builtin="delay",
        overloads=(Overload((_literal("window.delay", TIME, "the delay in milliseconds"),)),),
        clock_driven=True,
        expires=False,
        description="Delays every event.",
        example="from S#window.delay(1 min) select price insert into O;",
    ),
    WindowMetadata(
        name="expression",
        builtin="expression",
        overloads=(Overload((_EXPRESSION,)),),
        reads_event=True,
        takes_condition=True,
        description="The latest events that together satisfy a condition.",
        example="from S#window.expression('count() <= 20') select price insert into O;",
    ),
    WindowMetadata(
        name="expressionBatch",
        builtin="expressionBatch",
        overloads=(
            Overload((_EXPRESSION,)),
            Overload((_EXPRESSION, Parameter("include.triggering.event", BOOL))),
            Overload((_EXPRESSION, Parameter("include.triggering.event", BOOL), _STREAM)),
        ),
        batch=True,
        expires_passed=False,
        reads_event=True,
        takes_condition=True,
        description="Collects events while they satisfy a condition together, then releases them as a batch.",
        example="from S#window.expressionBatch('last.symbol == first.symbol') select price insert into O;",
    ),
    WindowMetadata(
        name="externalTime",
        builtin="externalTime",
        overloads=(Overload((_TS, _T)),),
        description="The events of the last period, by a time attribute of the events.",
        example="from S#window.externalTime(ts, 1 min) select avg(price) as mean insert into O;",
    ),
    WindowMetadata(
        name="externalTimeBatch",
        builtin="externalTimeBatch",
        overloads=(
            Overload((_TS, _T)),
            Overload((_TS, _T, Parameter("start.time", TIME, plain=True))),
            Overload((_TS, _T, Parameter("start.time", TIME, plain=True), _literal("timeout", TIME))),
            Overload(
                (
                    _TS,
                    _T,
                    Parameter("start.time", TIME, plain=True),
                    _literal("timeout", TIME),
                    _literal("replace.with.batchtime", BOOL),
                )
            ),
        ),
        batch=True,
        emits_reset=True,
        clock_driven=True,
        description="Batches of one period each, by a time attribute of the events.",
        example="from S#window.externalTimeBatch(ts, 1 min) select avg(price) as mean insert into O;",
    ),
    WindowMetadata(
        name="frequent",
        builtin="frequent",
        overloads=(Overload((_literal("event.count", INT, "the number of keys"),)), Overload((_N, _KEY))),
        reads_event=True,
        description="The latest events of the most frequent keys (Misra-Gries counting).",
        deprecated="use a grouped count instead",
    ),
    WindowMetadata(
        name="length",
        builtin="length",
        operator="length.LengthWindow",
        overloads=(Overload((_N,)),),
        emits_reset=True,
        description="The last events.",
        example="from S#window.length(10) select avg(price) as mean insert into O;",
    ),
    WindowMetadata(
        name="lengthBatch",
        builtin="lengthBatch",
        overloads=(Overload((_N,)), Overload((_N, _STREAM))),
        batch=True,
        emits_reset=True,
        description="Batches of a fixed number of events.",
        example="from S#window.lengthBatch(10) select avg(price) as mean insert into O;",
    ),
    WindowMetadata(
        name="lossyFrequent",
        builtin="lossyFrequent",
        overloads=(Overload((_SUPPORT,)), Overload((_SUPPORT, _ERROR)), Overload((_SUPPORT, _ERROR, _KEY))),
        check=_check_lossy,
        reads_event=True,
        expires_passed=False,
        description="The latest events of keys whose frequency exceeds a threshold (lossy counting).",
        deprecated="use a grouped count instead",
    ),
    WindowMetadata(
        name="session",
        builtin="session",
        overloads=(Overload((_GAP,)), Overload((_GAP, _SESSION_KEY)), Overload((_GAP, _SESSION_KEY, _LATENCY))),
        check=_check_session,
        clock_driven=True,
        description="Events without a gap longer than the session gap between them, per key.",
        example="from S#window.session(5 min, user) select user, count() as n group by user insert into O;",
    ),
    WindowMetadata(
        name="sort",
        builtin="sort",
        overloads=(
            Overload((_N, _ORDERED)),
            Overload((_N, _ORDERED, _ORDER)),
            Overload(
                (_N, _ORDERED, _ORDER, _ORDERED, Parameter("...", NUMERIC | STRING, plain=True)), Repeat.ZERO_OR_MORE
            ),
        ),
        check=_check_sort,
        description="The first events in the given order.",
        example="from S#window.sort(5, price, 'desc') select symbol, price insert into O;",
    ),
    WindowMetadata(
        name="time",
        builtin="time",
        operator="time.TimeWindow",
        overloads=(Overload((_T,)),),
        clock_driven=True,
        description="The events of the last period.",
        example="from S#window.time(1 min) select avg(price) as mean insert into O;",
    ),
    WindowMetadata(
        name="timeBatch",
        builtin="timeBatch",
        check=_check_time_batch,
        overloads=(
            Overload((_T,)),
            Overload((_T, _START)),
            Overload((_T, _STREAM)),
            Overload((_T, _START, _STREAM)),
        ),
        batch=True,
        emits_reset=True,
        clock_driven=True,
        description="Batches of one period each.",
        example="from S#window.timeBatch(1 min) select avg(price) as mean insert into O;",
    ),
    WindowMetadata(
        name="timeLength",
        builtin="timeLength",
        operator="time.TimeLengthWindow",
        overloads=(Overload((_T, _N)),),
        clock_driven=True,
        description="The last events of the last period.",
        example="from S#window.timeLength(1 min, 10) select avg(price) as mean insert into O;",
    ),
)
