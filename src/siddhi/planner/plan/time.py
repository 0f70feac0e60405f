"""Parse the times of queries over aggregations: ranges of ``within`` and durations of ``per``."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

from siddhi.errors import AggregationTimeError
from siddhi.query_api.definition import Duration

__all__ = ["duration_named", "kept_duration", "time_range"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?: ([+-])(\d\d):(\d\d))?", re.ASCII)
_WILD = re.compile(
    r"(\d{4})-(\d\d|\*\*)-(\d\d|\*\*) (\d\d|\*\*):(\d\d|\*\*):(\d\d|\*\*)(?: ([+-])(\d\d):(\d\d))?", re.ASCII
)
_FORMATS = (
    "write 'yyyy-MM-dd HH:mm:ss', with ** for trailing parts that are open ('2017-06-01 **:**:**', "
    "'2017-**-** **:**:**'), and append an offset '+HH:mm' if the time is not GMT"
)
_WORDS = {
    word: duration
    for duration, words in {
        Duration.SECONDS: ("sec", "second", "seconds"),
        Duration.MINUTES: ("min", "minute", "minutes"),
        Duration.HOURS: ("hour", "hours"),
        Duration.DAYS: ("day", "days"),
        Duration.MONTHS: ("month", "months"),
        Duration.YEARS: ("year", "years"),
    }.items()
    for word in words
}


def duration_named(text: object) -> Duration:
    """Return the duration that a value of ``per`` names, in any case.

    Raises:
        AggregationTimeError: the value is not a duration; the second argument is a hint.
    """
    duration = _WORDS.get(text.strip().lower()) if isinstance(text, str) else None
    if duration is None:
        raise AggregationTimeError(
            f"invalid duration {text!r} for 'per'", "write 'sec', 'min', 'hour', 'day', 'month' or 'year'"
        )
    return duration


def kept_duration(duration: Duration, kept: tuple[Duration, ...], aggregation: str) -> int:
    """Return the index of a duration among those of an aggregation.

    Raises:
        AggregationTimeError: the aggregation does not have it; the second argument is a hint.
    """
    if duration not in kept:
        names = ", ".join(f"'{other.value}'" for other in kept)
        raise AggregationTimeError(
            f"aggregation '{aggregation}' has no values per {duration.value}: "
            f"the aggregate values for {duration.name} granularity cannot be provided",
            f"it has {names}",
        )
    return kept.index(duration)


def time_range(*values: object) -> tuple[int, int]:
    """Return the range [start, end) in ms of ``within``: one string with wildcards, or two times (ms or string).

    Raises:
        AggregationTimeError: the values are not a range; the second argument is a hint.
    """
    first = values[0]
    for value, ordinal in zip(values, ("first ", "second ") if len(values) > 1 else ("",), strict=True):
        if value is None:
            raise AggregationTimeError(f"the {ordinal}value of 'within' is null", "remove such events with a filter")
    if len(values) == 1:
        if not isinstance(first, str):
            raise AggregationTimeError(
                "a single value of 'within' must be a string",
                "write two times, or a string such as '2017-06-** **:**:**'",
            )
        return _covered(first)
    second = values[1]
    start, end = _instant(first), _instant(second)
    if start >= end:
        raise AggregationTimeError(
            f"the range of 'within' is empty: {first!r} is not before {second!r}", "the end of the range is exclusive"
        )
    return start, end


def _instant(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        match = _TIME.fullmatch(value.strip())
        if match is not None:
            return _ms(*(int(part) for part in match.groups()[:6]), offset=_offset(match), text=value)
    raise AggregationTimeError(
        f"invalid time {value!r} in 'within'", _FORMATS.split(", with", 1)[0] + ", or a long in ms"
    )


def _covered(text: str) -> tuple[int, int]:
    match = _WILD.fullmatch(text.strip())
    parts = match.groups()[:6] if match is not None else ()
    given = [int(part) for part in parts if part != "**"]
    if match is None or any(part == "**" for part in parts[: len(given)]):
        raise AggregationTimeError(f"invalid time range '{text}' in 'within'", _FORMATS)
    offset = _offset(match)
    start = _ms(*given, *(1, 1, 0, 0, 0)[len(given) - 1 :], offset=offset, text=text)
    if len(given) > 2:
        length = (86400, 3600, 60, 1)[len(given) - 3]
        return start, start + 1000 * length
    year, month = given[0], given[1] if len(given) == 2 else 12
    year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return start, _ms(year, month, 1, 0, 0, 0, offset=offset, text=text)


def _offset(match: re.Match[str]) -> timedelta:
    sign, hours, minutes = match.groups()[6:]
    if sign is None:
        return timedelta()
    if int(hours) > 23 or int(minutes) > 59:
        raise AggregationTimeError(f"invalid offset of '{match.string}' in 'within'", _FORMATS)
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return offset if sign == "+" else -offset


def _ms(year: int, month: int, day: int, hour: int, minute: int, second: int, *, offset: timedelta, text: str) -> int:
    try:
        local = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError as error:
        raise AggregationTimeError(f"invalid time '{text}' in 'within': {error}", _FORMATS) from error
    return (local - offset - _EPOCH) // timedelta(milliseconds=1)
