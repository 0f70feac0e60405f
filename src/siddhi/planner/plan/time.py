"""Time as the readers of aggregations write it: ranges behind ``within``, bucket lengths behind ``per``, time zones."""

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
    "write 'yyyy-MM-dd HH:mm:ss', with ** for what is left open from the right ('2017-06-01 **:**:**', "
    "'2017-**-** **:**:**'), and an offset '+HH:mm' behind it if not GMT"
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
    """The bucket length a word behind ``per`` means, in any case.

    Raises:
        AggregationTimeError: it means none; the second argument is a hint.
    """
    duration = _WORDS.get(text.strip().lower()) if isinstance(text, str) else None
    if duration is None:
        raise AggregationTimeError(
            f"{text!r} behind 'per' is not a bucket length", "write 'sec', 'min', 'hour', 'day', 'month' or 'year'"
        )
    return duration


def kept_duration(duration: Duration, kept: tuple[Duration, ...], aggregation: str) -> int:
    """Its number among those that an aggregation keeps.

    Raises:
        AggregationTimeError: it keeps others; the second argument is a hint.
    """
    if duration not in kept:
        names = ", ".join(f"'{other.value}'" for other in kept)
        raise AggregationTimeError(
            f"aggregation '{aggregation}' keeps no values per {duration.value}: "
            f"the aggregate values for {duration.name} granularity cannot be provided",
            f"it keeps {names}",
        )
    return kept.index(duration)


def time_range(*values: object) -> tuple[int, int]:
    """The range [start, end) in ms that one text with wildcards, or two times (ms or text) behind ``within`` mean.

    Raises:
        AggregationTimeError: they mean none; the second argument is a hint.
    """
    first = values[0]
    for value, place in zip(values, ("first ", "second ") if len(values) > 1 else ("",), strict=True):
        if value is None:
            raise AggregationTimeError(
                f"the {place}value behind 'within' is null", "leave such events out with a filter"
            )
    if len(values) == 1:
        if not isinstance(first, str):
            raise AggregationTimeError(
                "only text can stand alone behind 'within'", "write two times, or a text such as '2017-06-** **:**:**'"
            )
        return _covered(first)
    second = values[1]
    start, end = _instant(first), _instant(second)
    if start >= end:
        raise AggregationTimeError(
            f"the range behind 'within' is empty: {first!r} is not before {second!r}", "the end is not part of it"
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
        f"{value!r} behind 'within' is not a time", _FORMATS.split(", with", 1)[0] + ", or a long in ms"
    )


def _covered(text: str) -> tuple[int, int]:
    match = _WILD.fullmatch(text.strip())
    parts = match.groups()[:6] if match is not None else ()
    given = [int(part) for part in parts if part != "**"]
    if match is None or any(part == "**" for part in parts[: len(given)]):
        raise AggregationTimeError(f"'{text}' behind 'within' is not a range of time", _FORMATS)
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
        raise AggregationTimeError(f"'{match.string}' behind 'within' has an impossible offset", _FORMATS)
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return offset if sign == "+" else -offset


def _ms(year: int, month: int, day: int, hour: int, minute: int, second: int, *, offset: timedelta, text: str) -> int:
    try:
        local = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError as error:
        raise AggregationTimeError(f"'{text}' behind 'within' names no time: {error}", _FORMATS) from error
    return (local - offset - _EPOCH) // timedelta(milliseconds=1)
