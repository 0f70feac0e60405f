"""Cron expressions in the format of Quartz: ``seconds minutes hours day-of-month month day-of-week [year]``.

A field is ``*``, a value, a range ``a-b`` (which may wrap), a step ``a/n`` or ``a-b/n``, or a list of those; months and
days of the week have names. One of the two day fields is ``?``. ``L`` is the last day (of the month, or ``6L``: the last
Friday), ``15W`` the working day nearest to the 15th, ``L-3W`` that nearest to the third day before the last,
``6#3`` the third Friday.

When the clocks are set back, a rule that repeats within the hour, or in every hour, fires in both passes of the repeated hour; one
of fixed times fires once, in the first pass.
"""

from __future__ import annotations

import calendar
from bisect import bisect_left, bisect_right
from datetime import datetime, timedelta, tzinfo

from siddhi._frozen import frozen

__all__ = ["CronSchedule", "parse_cron"]

_MONTHS = (
    "JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER", "DECEMBER",
)  # fmt: skip
_WEEKDAYS = ("SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY")
_FIRST_YEAR, _LAST_YEAR = 1970, 2199
_BEGIN_MS, _END_MS = -86_400_000, 7_258_204_800_000  # contains those years in all time zones


@frozen
class _Field:
    name: str
    low: int
    high: int
    names: tuple[str, ...] = ()  # their first three letters are names, too
    largest_step: int | None = None  # after '*'; None: any


_SECONDS = _Field("seconds", 0, 59, largest_step=59)
_MINUTES = _Field("minutes", 0, 59, largest_step=59)
_HOURS = _Field("hours", 0, 23, largest_step=23)
_DAYS = _Field("day of month", 1, 31, largest_step=31)
_MONTH = _Field("month", 1, 12, _MONTHS, 12)
_WEEKDAY = _Field("day of week", 1, 7, _WEEKDAYS, 7)
_YEARS = _Field("year", _FIRST_YEAR, _LAST_YEAR)


@frozen
class CronSchedule:
    """The schedule of a cron expression. Values are sorted; ``weekdays`` count from 1 (Sunday).

    ``days`` and ``weekdays`` are None where the field is ``?``; ``special`` is a day rule ``(kind, a, b)``:
    ``last`` (b days before the end), ``last_working`` (nearest to that day), ``working`` (nearest to day a), ``last_weekday``
    (weekday a), ``nth_weekday`` (the b-th weekday a). ``repeats``: it fires in both passes of a repeated hour.
    """

    seconds: tuple[int, ...]
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...] | None
    months: tuple[int, ...]
    weekdays: tuple[int, ...] | None
    years: tuple[int, ...]
    special: tuple[str, int, int] | None = None
    repeats: bool = False

    def next_after(self, time_ms: int, tz: tzinfo | None = None) -> int | None:
        """Return the first time after ``time_ms``, or None if there is none.

        Args:
            time_ms: milliseconds since 1970.
            tz: the time zone of the expression; None: that of the machine.
        """
        if time_ms >= _END_MS:
            return None
        start = datetime.fromtimestamp(max(time_ms, _BEGIN_MS) // 1000 + 1, tz)
        if not self.repeats:
            return self._search(start, time_ms, tz)
        if start.fold:
            return self._search(start, time_ms, tz, is_second=True)
        found = self._search(start, time_ms, tz)
        repeated = _repeated_s(start)
        if repeated and (found is None or not _repeated_s(datetime.fromtimestamp(found // 1000, tz))):
            # The first pass has no more times: those of the second one begin up to an hour before in local time.
            second = self._search(start - timedelta(seconds=repeated), time_ms, tz, is_second=True)
            if found is None or (second is not None and second < found):
                return second
        return found

    def _search(self, start: datetime, time_ms: int, tz: tzinfo | None, *, is_second: bool = False) -> int | None:
        """Return the first time after ``time_ms``, from a local time on, by the first or second pass of repeated hours."""
        for year in self.years[bisect_left(self.years, start.year) :]:
            for month in self.months:
                if (year, month) < (start.year, start.month):
                    continue
                for day in self._days_of(year, month):
                    if (year, month, day) < (start.year, start.month, start.day):
                        continue
                    is_first = (year, month, day) == (start.year, start.month, start.day)
                    found = self._on_day(
                        datetime(year, month, day, tzinfo=tz), start if is_first else None, time_ms, is_second
                    )
                    if found is not None:
                        return found
        return None

    def before_last(self, n: int, until_ms: int, tz: tzinfo | None = None) -> int:
        """Return a time after which the last n times up to ``until_ms`` follow, or fewer if the clocks were set forward.

        Args:
            n: the number of times, 1 or more.
            until_ms: milliseconds since 1970.
            tz: the time zone of the expression; None: that of the machine.
        """
        found = self._before_last(n, until_ms, tz)
        if not self.repeats or found >= until_ms:
            return found
        last = _END_MS // 1000
        begin, end = (
            datetime.fromtimestamp(max(min(t // 1000, last), 0), tz).astimezone(tz) for t in (found, until_ms)
        )
        repeated = (begin.utcoffset() or timedelta()) - (end.utcoffset() or timedelta())
        if repeated <= timedelta():
            return found
        # The second pass is missing in the count: find its beginning, and leave out as many of the first times.
        low, high = found // 1000, min(until_ms // 1000, last)
        while high - low > 1:
            middle = (low + high) // 2
            if datetime.fromtimestamp(middle, tz).astimezone(tz).utcoffset() == begin.utcoffset():
                low = middle
            else:
                high = middle
        turn = high * 1000 - 1
        rest = n - self._times_between(turn, turn + int(repeated.total_seconds()) * 1000, tz)
        found = self._before_last(rest, until_ms, tz) if rest > 0 else until_ms
        if found < turn:
            return found
        return self._before_last(n - max(rest, 0) - self._times_between(turn, found, tz), turn, tz)

    def _times_between(self, time_ms: int, until_ms: int, tz: tzinfo | None) -> int:
        """Return the number of times after a time, up to another one."""
        number, time = 0, self.next_after(time_ms, tz)
        while time is not None and time <= until_ms:
            number, time = number + 1, self.next_after(time, tz)
        return number

    def _before_last(self, n: int, until_ms: int, tz: tzinfo | None) -> int:
        """Return the time before the last n local times, each of which counts once."""
        if until_ms < _BEGIN_MS:
            return until_ms
        end = datetime.fromtimestamp(min(until_ms, _END_MS) // 1000, tz)
        of_a_day = len(self.hours) * len(self.minutes) * len(self.seconds)
        for year in reversed(self.years[: bisect_right(self.years, end.year)]):
            for month in reversed(self.months):
                if (year, month) > (end.year, end.month):
                    continue
                for day in reversed(self._days_of(year, month)):
                    if (year, month, day) > (end.year, end.month, end.day):
                        continue
                    is_last = (year, month, day) == (end.year, end.month, end.day)
                    times = self._times_until(end) if is_last else of_a_day
                    if n <= times:
                        return self._nth_of_day(datetime(year, month, day, tzinfo=tz), times - n, until_ms) - 1
                    n -= times
        return _BEGIN_MS

    def _times_until(self, end: datetime) -> int:
        """Return how many of the times of a day are at or before a time of day."""
        count = 0
        whole = True
        for values, bound, smaller in (
            (self.hours, end.hour, len(self.minutes) * len(self.seconds)),
            (self.minutes, end.minute, len(self.seconds)),
            (self.seconds, end.second, 1),
        ):
            if whole:
                count += bisect_left(values, bound) * smaller
                whole = bound in values
        return count + whole

    def _nth_of_day(self, day: datetime, number: int, until_ms: int) -> int:
        """Return the nth time of a day, in milliseconds since 1970: of both passes the last one up to a time."""
        minutes, second = divmod(number, len(self.seconds))
        hour, minute = divmod(minutes, len(self.minutes))
        found = day.replace(hour=self.hours[hour], minute=self.minutes[minute], second=self.seconds[second])
        second = _instant_s(found, is_second=True) * 1000
        return second if self.repeats and second <= until_ms else _instant_s(found, is_second=False) * 1000

    def has_days(self) -> bool:
        """Return whether the schedule fires on any day, past or future."""
        return any(self._days_of(year, month) for year in self.years for month in self.months)

    def _on_day(self, day: datetime, start: datetime | None, time_ms: int, is_second: bool) -> int | None:
        """Return the first time of a day after ``time_ms``; ``start`` is a lower bound on the first day."""
        least = (0, 0, 0) if start is None else (start.hour, start.minute, start.second)
        for hour in self.hours[bisect_left(self.hours, least[0]) :]:
            for minute in self.minutes if hour > least[0] else self.minutes[bisect_left(self.minutes, least[1]) :]:
                later = (hour, minute) > least[:2]
                for second in self.seconds if later else self.seconds[bisect_left(self.seconds, least[2]) :]:
                    # When the clocks are set forward, a local time may not exist and map to an earlier time: take the next.
                    found = _instant_s(day.replace(hour=hour, minute=minute, second=second), is_second=is_second) * 1000
                    if found > time_ms:
                        return found
        return None

    def _days_of(self, year: int, month: int) -> list[int]:
        """Return the days of a month, ascending."""
        first_weekday, length = calendar.monthrange(year, month)  # Monday is 0
        weekday_of = [(first_weekday + day + 1) % 7 + 1 for day in range(length)]  # Sunday is 1
        if self.special is not None:
            return _special_day(self.special, weekday_of)
        if self.days is not None:
            return [day for day in self.days if day <= length]
        assert self.weekdays is not None
        return [day for day in range(1, length + 1) if weekday_of[day - 1] in self.weekdays]


def _instant_s(local: datetime, *, is_second: bool) -> int:
    """Return a local time in seconds since 1970, in the first or second pass of a repeated hour."""
    first = int(local.timestamp())
    return max(first, int(local.replace(fold=1).timestamp())) if is_second else first


def _repeated_s(local: datetime) -> int:
    """Return the seconds after which a local time is repeated; 0: it is not, or this is its second pass."""
    return 0 if local.fold else _instant_s(local, is_second=True) - int(local.timestamp())


def parse_cron(text: str) -> CronSchedule:
    """Parse a cron expression.

    Raises:
        ValueError: the expression is invalid; the arguments are the message and a hint.
    """
    parts = text.split()
    if len(parts) not in (6, 7):
        raise ValueError(
            f"invalid cron expression '{text}': expected 6 or 7 fields, got {len(parts)}",
            "write seconds minutes hours day-of-month month day-of-week [year], such as '0 30 9 ? * MON-FRI'",
        )
    day_text, weekday_text = parts[3].upper(), parts[5].upper()
    if (day_text == "?") is (weekday_text == "?"):
        raise ValueError(
            f"invalid cron expression '{text}': exactly one of day of month and day of week must be '?'",
            "write '?' for the unused field",
        )
    special = _day_rule(day_text) or _weekday_rule(weekday_text)
    plain = special is None
    schedule = CronSchedule(
        seconds=_values(_SECONDS, parts[0]),
        minutes=_values(_MINUTES, parts[1]),
        hours=_values(_HOURS, parts[2]),
        days=_values(_DAYS, day_text) if plain and day_text != "?" else None,
        months=_values(_MONTH, parts[4].upper()),
        weekdays=_values(_WEEKDAY, weekday_text) if plain and weekday_text != "?" else None,
        years=_values(_YEARS, parts[6] if len(parts) == 7 else "*"),
        special=special,
        # A list of numbers is fixed times; '*', a range or a step repeats.
        repeats=parts[2] == "*" or any(sign in field for field in parts[:2] for sign in "*/-"),
    )
    if not schedule.has_days():
        raise ValueError(
            f"cron expression '{text}' never fires: no month has such a day",
            "February has at most 29 days; April, June, September and November have 30",
        )
    return schedule


def _values(field: _Field, text: str) -> tuple[int, ...]:
    """Return the values of a field, ascending."""
    values: set[int] = set()
    for part in text.split(","):
        span, slash, step_text = part.partition("/")
        step = 1
        if slash:
            if not (step_text.isascii() and step_text.isdigit()) or int(step_text) == 0:
                raise ValueError(
                    f"invalid step '{part}' in field '{field.name}' of a cron expression", "write it as 0/15"
                )
            step = int(step_text)
            if span in ("*", "") and field.largest_step is not None and step > field.largest_step:
                raise ValueError(
                    f"invalid step '{part}' in field '{field.name}' of a cron expression",
                    f"steps of this field are 1 to {field.largest_step}",
                )
        if span in ("*", "") and (span or slash):
            low, high = field.low, field.high
        elif "-" in span:
            left, _, right = span.partition("-")
            low, high = _value(field, left), _value(field, right)
        else:
            low = _value(field, span)
            high = field.high if slash else low
        if low > high:
            high += field.high - field.low + 1
        size = field.high - field.low + 1
        values.update((value - field.low) % size + field.low for value in range(low, high + 1, step))
    return tuple(sorted(values))


def _value(field: _Field, text: str) -> int:
    for number, name in enumerate(field.names, 1):
        if text in (name, name[:3]):
            return number
    if field is _WEEKDAY and text == "L":
        return field.high
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"invalid value '{text}' for field '{field.name}' of a cron expression", _range_hint(field))
    value = int(text)
    if not field.low <= value <= field.high:
        raise ValueError(
            f"value {value} is out of range for field '{field.name}' of a cron expression", _range_hint(field)
        )
    return value


def _range_hint(field: _Field) -> str:
    names = f" or {field.names[0][:3]} to {field.names[-1][:3]}" if field.names else ""
    return f"{field.name}: {field.low} to {field.high}{names}"


def _day_rule(text: str) -> tuple[str, int, int] | None:
    if text == "L":
        return ("last", 0, 0)
    if text == "LW":
        return ("last_working", 0, 0)
    if text.startswith("L-"):
        kind = "last_working" if text.endswith("W") else "last"
        return (kind, 0, _value(_Field("offset from the last day", 1, 30), text[2:].removesuffix("W")))
    if text.endswith("W"):
        return ("working", _value(_DAYS, text[:-1]), 0)
    return None


def _weekday_rule(text: str) -> tuple[str, int, int] | None:
    if len(text) > 1 and text.endswith("L"):
        return ("last_weekday", _value(_WEEKDAY, text[:-1]), 0)
    if "#" in text:
        weekday, _, number = text.partition("#")
        return ("nth_weekday", _value(_WEEKDAY, weekday), _value(_Field("week of the month", 1, 5), number))
    return None


def _special_day(rule: tuple[str, int, int], weekday_of: list[int]) -> list[int]:
    """Return the day that a rule names in a month with these weekdays, if the month has such a day."""
    kind, value, number = rule
    length = len(weekday_of)
    if kind == "last":
        return [length - number] if number < length else []
    if kind == "nth_weekday":
        days = [day for day in range(1, length + 1) if weekday_of[day - 1] == value]
        return days[number - 1 : number]
    if kind == "last_weekday":
        return [max(day for day in range(1, length + 1) if weekday_of[day - 1] == value)]
    wanted = length - number if kind == "last_working" else value
    if not 1 <= wanted <= length:
        return []
    working = [day for day in range(1, length + 1) if 2 <= weekday_of[day - 1] <= 6]
    return [min(working, key=lambda day: (abs(day - wanted), day > wanted))]
