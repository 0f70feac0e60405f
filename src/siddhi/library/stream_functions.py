"""The built-in stream functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import Overload, Parameter, StreamFunctionMetadata
from siddhi.library.type_sets import BOOL, DOUBLE, STRING
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = ["STREAM_FUNCTIONS"]

_PRIORITIES = ("INFO", "DEBUG", "WARN", "FATAL", "ERROR", "OFF", "TRACE")


def _check_log(types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    """Check a literal priority, the first of two string arguments."""
    if len(types) < 2 or types[1] is not AttributeType.STRING or constants[0] is None:
        return
    if str(constants[0]).upper() not in _PRIORITIES:
        raise ValueError(f"'{constants[0]}' is not a log priority", f"use one of {', '.join(_PRIORITIES)}")


def _cartesian(types: Sequence[AttributeType], _constants: Sequence[Any]) -> tuple[Attribute, ...]:
    return tuple(Attribute(name, AttributeType.DOUBLE) for name in "xyz"[: len(types)])


_PRIORITY = Parameter("priority", STRING, plain=True, description=", ".join(_PRIORITIES))
_MESSAGE = Parameter("log.message", STRING, description="text to log before the event")
_WITH_EVENT = Parameter("is.event.logged", BOOL, description="whether to log the event")
_THETA = Parameter("theta", DOUBLE, description="the angle in degrees")
_RHO = Parameter("rho", DOUBLE, description="the distance")

STREAM_FUNCTIONS: tuple[StreamFunctionMetadata, ...] = (
    StreamFunctionMetadata(
        name="log",
        builtin="log",
        overloads=(
            Overload(),
            Overload((_MESSAGE,)),
            Overload((_WITH_EVENT,)),
            Overload((_MESSAGE, _WITH_EVENT)),
            Overload((_PRIORITY, _MESSAGE)),
            Overload((_PRIORITY, _MESSAGE, _WITH_EVENT)),
        ),
        check=_check_log,
        reads_event=True,
        description="Logs each event and passes it on unchanged.",
        example="from S#log('INFO', 'seen') select * insert into O;",
    ),
    StreamFunctionMetadata(
        name="pol2Cart",
        builtin="pol2Cart",
        overloads=(
            Overload((_THETA, _RHO)),
            Overload((_THETA, _RHO, Parameter("z", DOUBLE, description="the height"))),
        ),
        appends=_cartesian,
        description="Appends the cartesian coordinates x, y (and z) of a polar position.",
        example="from S#pol2Cart(angle, distance) select x, y insert into O;",
    ),
)
