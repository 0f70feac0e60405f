"""Units of time literals, in milliseconds; months have 30 days and years 365."""

from __future__ import annotations

from siddhi.query_api.definition import Duration

__all__ = ["DURATIONS", "LONGEST_MS", "MILLISECONDS", "UNIT_NAMES"]

LONGEST_MS = 2**62 - 1  # added to a timestamp (at most 2^62) it still fits 64 bits

# Coarsest first: the order of the parts of a time literal.
MILLISECONDS: dict[str, int] = {
    "year": 31_536_000_000,
    "month": 2_592_000_000,
    "week": 604_800_000,
    "day": 86_400_000,
    "hour": 3_600_000,
    "min": 60_000,
    "sec": 1_000,
    "millisec": 1,
}

# Every spelling of a unit (in lower case), and the unit.
UNIT_NAMES: dict[str, str] = {
    **{word: word for word in MILLISECONDS},
    **{word + "s": word for word in ("year", "month", "week", "day", "hour")},
    **dict.fromkeys(("minute", "minutes"), "min"),
    **dict.fromkeys(("second", "seconds"), "sec"),
    **dict.fromkeys(("millisecond", "milliseconds"), "millisec"),
}

DURATIONS: dict[str, Duration] = {duration.value: duration for duration in Duration}
