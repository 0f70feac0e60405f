"""Lossless JSON text of values of events and payloads; reading it creates data only."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from typing import Any

from siddhi.event import Event
from siddhi.persistence.error_store import UnkeptValue

__all__ = ["read_value", "write_value"]

_MARK = "$"
"""Prefix of the only key of an object that represents a value without JSON equivalent."""
_LARGEST = 1 << 512
"""Larger integers are written in hexadecimal: Python limits the number of decimal digits, and reads them slowly."""


def write_value(value: object) -> str:
    """Write a value as JSON: None, bool, int, float, str, bytes, bytearray, list, tuple, dict, Event, and these nested.

    Other values, such as objects of user classes or recursive data, are written as their ``repr``.
    """
    if not isinstance(value, UnkeptValue):
        try:
            return _text(_plain(value))
        except (_NoDataError, RecursionError):
            pass
    return _text({"$unkept": _described(value)})


def read_value(text: str) -> Any:
    """Read a text of :func:`write_value`; return an :class:`UnkeptValue` for a value that could not be written.

    Raises:
        ValueError: the text is invalid.
    """
    try:
        return _value(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"invalid JSON of a value: {error}") from error


class _NoDataError(Exception):
    """A value has a class that can't be written."""


def _text(plain: object) -> str:
    # In ASCII, so that every database can store it.
    return json.dumps(plain, allow_nan=False, separators=(",", ":"))


def _described(value: object) -> list[str]:
    if isinstance(value, UnkeptValue):
        return [value.type, value.text]
    name = type(value).__qualname__
    try:
        return [name, repr(value)]
    except Exception:  # noqa: BLE001 - a failing repr leaves only the class name
        return [name, f"<{name}>"]


def _plain(value: Any) -> object:
    # By exact class: subclasses have further state that would be lost.
    write = _WRITERS.get(type(value))
    if write is None:
        raise _NoDataError
    return write(value)


def _plain_int(value: int) -> object:
    return value if -_LARGEST < value < _LARGEST else {"$int": hex(value)}


def _plain_float(value: float) -> object:
    return value if math.isfinite(value) else {"$float": repr(value)}


def _plain_dict(value: dict[Any, Any]) -> object:
    if all(type(key) is str and not key.startswith(_MARK) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    return {"$dict": [[_plain(key), _plain(item)] for key, item in value.items()]}


def _plain_event(event: Event) -> object:
    end = [] if event.end is None else [_plain_int(event.end)]
    return {"$event": [event.timestamp, [_plain(value) for value in event.data], event.is_expired, *end]}


_WRITERS: dict[type, Callable[[Any], object]] = {
    type(None): lambda value: value,
    bool: lambda value: value,
    str: lambda value: value,
    int: _plain_int,
    float: _plain_float,
    bytes: lambda value: {"$bytes": base64.b64encode(value).decode("ascii")},
    bytearray: lambda value: {"$bytearray": base64.b64encode(value).decode("ascii")},
    list: lambda value: [_plain(item) for item in value],
    tuple: lambda value: {"$tuple": [_plain(item) for item in value]},
    dict: _plain_dict,
    Event: _plain_event,
}


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if len(plain) == 1:
        ((mark, inner),) = plain.items()
        if mark.startswith(_MARK):
            return _READERS[mark](inner)
    return {key: _value(item) for key, item in plain.items()}


def _read_event(plain: list[Any]) -> Event:
    timestamp, values, is_expired, *end = plain
    return Event(timestamp, [_value(value) for value in values], is_expired, *map(_value, end))


_READERS: dict[str, Callable[[Any], object]] = {
    "$int": lambda text: int(text, 16),
    "$float": float,
    "$bytes": lambda text: base64.b64decode(text, validate=True),
    "$bytearray": lambda text: bytearray(base64.b64decode(text, validate=True)),
    "$tuple": lambda items: tuple([_value(item) for item in items]),
    "$dict": lambda pairs: {_value(key): _value(item) for key, item in pairs},
    "$event": _read_event,
    "$unkept": lambda named: UnkeptValue(*named),
}
