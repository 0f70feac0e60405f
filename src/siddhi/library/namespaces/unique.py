"""The namespace ``unique``: windows that keep one event of each key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from siddhi.extension.metadata import (
    ExtensionMetadata,
    Overload,
    Parameter,
    Repeat,
    StreamProcessorMetadata,
    WindowMetadata,
)
from siddhi.library.namespaces.declare import takes
from siddhi.library.operators import unique
from siddhi.library.type_sets import ANY, BOOL, INT, LONG, TIME
from siddhi.types import AttributeType

__all__ = ["EXTENSIONS"]

_KEY = Parameter("unique.key", ANY, description="the key")
_LENGTH = Parameter("window.length", INT, dynamic=False, description="number of keys, 1 or more")
_TIME = Parameter("window.time", TIME, dynamic=False, description="duration, above 0")
_START = Parameter(
    "start.time", TIME, dynamic=False, description="an instant at which a batch begins; default: the first event"
)
_TIME_OUT = Parameter(
    "time.out", TIME, dynamic=False, description="a batch also ends this long after its last event; 0: never"
)
_STAMP = "the time of the event in ms"


def _check(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    """Check lengths, durations and instants: the second argument, the last and those between."""
    numbers = [value for value in constants[1:] if isinstance(value, int)]
    if any(value < 0 for value in numbers) or 0 in (*constants[1:2], *constants[2:][-1:]):
        raise ValueError("invalid length or duration: expected a number above 0")


def _check_external(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if constants[2] <= 0 or any(value < 0 for value in constants[3:]):
        raise ValueError("invalid duration or instant: expected a number above 0, or 0 as start.time or time.out")


def _window(
    name: str,
    implementation: type,
    overloads: Sequence[Overload],
    description: str,
    arguments: str,
    *,
    batch: bool = False,
    check: Callable[..., None] | None = None,
) -> WindowMetadata:
    return WindowMetadata(
        name=name,
        namespace="unique",
        implementation=implementation,
        overloads=tuple(overloads),
        batch=batch,
        emits_reset=batch,
        expires_passed=False,
        clock_driven=hasattr(implementation, "on_timer"),
        searchable=True,
        reads_event=True,
        check=check or (None if overloads[0].repeat is Repeat.ONE_OR_MORE else _check),
        description=description,
        example=f"from S#window.unique:{name}({arguments}) select symbol, price insert into O;",
    )


EXTENSIONS: tuple[ExtensionMetadata, ...] = (
    StreamProcessorMetadata(
        name="deduplicate",
        namespace="unique",
        implementation=unique.Deduplicate,
        overloads=(Overload((_KEY, Parameter("time.interval", TIME, dynamic=False, description="duration, above 0"))),),
        check=_check,
        description="Drops an event if one with its key was passed within the interval before.",
        example="from S#unique:deduplicate(symbol, 1 sec) select symbol, price insert into O;",
    ),
    _window(
        "ever",
        unique.UniqueEver,
        [Overload((_KEY,), Repeat.ONE_OR_MORE)],
        "Keeps the latest event of each key; the one before expires.",
        "symbol",
    ),
    _window(
        "externalTimeBatch",
        unique.UniqueExternalTimeBatch,
        [
            *takes(_KEY, Parameter("time.stamp", LONG, description=_STAMP), _TIME, optional=(_START, _TIME_OUT)),
            Overload(
                (
                    _KEY,
                    Parameter("time.stamp", LONG, attribute_only=True, description=_STAMP),
                    _TIME,
                    _START,
                    _TIME_OUT,
                    Parameter(
                        "replace.time.stamp.with.batch.end.time",
                        BOOL,
                        dynamic=False,
                        description="whether the attribute time.stamp of emitted events is the end of their interval; default false",
                    ),
                )
            ),
        ],
        "Collects the latest event of each key, and emits them when the time attribute reaches the end of an interval.",
        "symbol, ts, 1 sec",
        batch=True,
        check=_check_external,
    ),
    _window(
        "first",
        unique.UniqueFirst,
        [Overload((_KEY,), Repeat.ONE_OR_MORE)],
        "Keeps the first event of each key; later ones are dropped.",
        "symbol",
    ),
    _window(
        "firstLengthBatch",
        unique.UniqueFirstLengthBatch,
        [Overload((_KEY, _LENGTH))],
        "Collects the first event of each key, and emits them when there are n keys.",
        "symbol, 10",
        batch=True,
    ),
    _window(
        "firstTimeBatch",
        unique.UniqueFirstTimeBatch,
        takes(_KEY, _TIME, optional=(_START,)),
        "Collects the first event of each key, and emits them at the end of each interval.",
        "symbol, 1 sec",
        batch=True,
    ),
    _window(
        "length",
        unique.UniqueLength,
        [Overload((_KEY, _LENGTH))],
        "Keeps the latest event of each of the last n keys.",
        "symbol, 10",
    ),
    _window(
        "lengthBatch",
        unique.UniqueLengthBatch,
        [Overload((_KEY, _LENGTH))],
        "Collects the latest event of each key, and emits them when there are n keys.",
        "symbol, 10",
        batch=True,
    ),
    _window(
        "time",
        unique.UniqueTime,
        [Overload((_KEY, _TIME))],
        "Keeps the latest event of each key for a time.",
        "symbol, 1 sec",
    ),
    _window(
        "timeBatch",
        unique.UniqueTimeBatch,
        takes(_KEY, _TIME, optional=(_START,)),
        "Collects the latest event of each key, and emits them at the end of each interval.",
        "symbol, 1 sec",
        batch=True,
    ),
    _window(
        "timeLengthBatch",
        unique.UniqueTimeLengthBatch,
        [Overload((_KEY, _TIME, _LENGTH)), Overload((_KEY, _TIME, _START, _LENGTH))],
        "Collects the latest event of each key, and emits them at the end of an interval or when there are n keys, which begins a "
        "new interval.",
        "symbol, 1 sec, 10",
        batch=True,
    ),
)
