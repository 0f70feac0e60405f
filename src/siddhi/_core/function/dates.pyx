"""Dates as text: the functions of the namespace ``time``, over times in ms since 1970.

The calendar is the Gregorian one, also before 1582, from year 1 to 9999. A time that clocks skip is read as if they had not
been set, one that they show twice as the later instant, as Java does.
"""

from libc.stdint cimport int64_t

from datetime import datetime, timedelta, timezone

from siddhi.errors import shown

cdef enum:
    DAY = 86_400_000
    MOST_KEPT = 512                # formats, zones, and days of a zone

cdef int64_t FIRST = -62135596800000          # year 1
cdef int64_t LAST = 253402300800000           # year 10000

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")
UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
DEFAULT = "yyyy-MM-dd HH:mm:ss.SSS"
EPOCH = datetime(1970, 1, 1)

cdef struct DateC:
    int64_t year
    int month                      # from 1
    int day
    int hour
    int minute
    int second
    int milli
    int64_t days                   # since 1970


cdef inline int64_t floor_div(int64_t a, int64_t b) noexcept:
    return a // b - (a % b < 0)


cdef int64_t days_of(int64_t year, int month, int day) noexcept:
    """Return the days from 1970-01-01 to a date (Hinnant's algorithm)."""
    cdef int64_t era, y = year - (month <= 2)
    cdef int64_t of_era, of_year
    era = floor_div(y, 400)
    of_era = y - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


cdef int split(int64_t local, DateC* out) except -1:
    """Write the date and time of a local time in ms."""
    cdef int64_t days, era, of_era, of_year, years, month, rest
    if local < FIRST or local >= LAST:
        raise ValueError(f"time {local} ms is out of range: expected a year from 1 to 9999")
    days = floor_div(local, DAY)
    rest = local - days * DAY
    out.days = days
    out.milli = <int> (rest % 1000)
    out.second = <int> (rest // 1000 % 60)
    out.minute = <int> (rest // 60_000 % 60)
    out.hour = <int> (rest // 3_600_000)
    days += 719468
    era = floor_div(days, 146097)
    of_era = days - era * 146097
    years = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * years + years // 4 - years // 100)
    month = (5 * of_year + 2) // 153
    out.day = <int> (of_year - (153 * month + 2) // 5 + 1)
    out.month = <int> (month + 3 if month < 10 else month - 9)
    out.year = years + era * 400 + (out.month <= 2)
    return 0


cdef inline bint is_leap(int64_t year) noexcept:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


cdef int days_in(int64_t year, int month) noexcept:
    if month == 2:
        return 29 if is_leap(year) else 28
    return 30 if month == 4 or month == 6 or month == 9 or month == 11 else 31


cdef int week_of(const DateC* date, bint from_sunday, bint of_month) noexcept:
    """Return the week of a year or month: from Sunday, with at least one day in it; or from Monday, with four."""
    cdef int64_t weekday = (date.days + (4 if from_sunday else 3)) % 7
    cdef int64_t first = days_of(date.year, date.month if of_month else 1, 1)
    cdef int64_t of_first, start
    cdef int64_t year
    if weekday < 0:
        weekday += 7
    of_first = (first + (4 if from_sunday else 3)) % 7
    if of_first < 0:
        of_first += 7
    start = first - of_first                # the begin of the week that contains the first day
    if not from_sunday and 7 - of_first < 4:
        start += 7
    if from_sunday and not of_month:
        # The last days of a year belong to the first week of the next one, if it begins in that week.
        year = date.year + 1
        if date.days - weekday + 6 >= days_of(year, 1, 1):
            return 1
    if not from_sunday and not of_month:
        monday = date.days - weekday
        if monday + 3 >= days_of(date.year + 1, 1, 1):
            return 1
        if date.days < start:
            first = days_of(date.year - 1, 1, 1)
            of_first = (first + 3) % 7
            if of_first < 0:
                of_first += 7
            start = first - of_first + (7 if 7 - of_first < 4 else 0)
    return <int> (floor_div(date.days - start, 7) + 1)


# --- zones

cdef class Zone:
    """Offsets of a time zone from UTC; None is the zone of the system."""

    cdef object tz
    cdef dict by_day               # offset in ms by day since 1970; None: it changes on that day

    def __init__(self, name=None):
        self.by_day = {}
        self.tz = None if name is None else tz_of(name)

    cdef int64_t exact(self, int64_t time) except? -1:
        """Return the offset in ms at an instant, as Python's zones say."""
        cdef int64_t ms = min(max(time, FIRST + DAY), LAST - DAY)
        at = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=ms)
        return milliseconds(at.astimezone(self.tz).utcoffset())

    cdef int64_t offset_at(self, int64_t time) except? -1:
        """Return the offset in ms at an instant."""
        cdef int64_t day = floor_div(time, DAY)
        cdef int64_t first
        known = self.by_day.get(day, self)
        if known is self:
            if len(self.by_day) >= MOST_KEPT:
                self.by_day.clear()
            first = self.exact(day * DAY)
            known = self.by_day[day] = first if first == self.exact(day * DAY + DAY - 1) else None
        return self.exact(time) if known is None else known

    cdef int64_t instant_of(self, int64_t local) except? -1:
        """Return the instant of a local time, both in ms since 1970."""
        cdef int64_t before = self.offset_at(local - DAY)
        cdef int64_t after = self.offset_at(local + DAY)
        if before != after:
            at = EPOCH + timedelta(milliseconds=local)
            offsets = []
            for fold in (0, 1):
                one = at.replace(fold=fold)
                one = one.astimezone() if self.tz is None else one.replace(tzinfo=self.tz)
                offsets.append(milliseconds(one.utcoffset()))
            before = min(offsets)
        return local - before

    cdef str name_at(self, int64_t time):
        at = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=time)
        return at.astimezone(self.tz).tzname()


cdef int64_t milliseconds(offset) except? -1:
    return (offset.days * 86400 + offset.seconds) * 1000


cdef object tz_of(str name):
    """Return a zone of the IANA database, or an offset such as GMT+5:30."""
    cdef object offset
    if name in ("UTC", "GMT", "Z"):
        return timezone.utc
    if name[:3] in ("GMT", "UTC") and name[3:4] in ("+", "-"):
        offset = offset_of(name[3:])
        if offset is not None:
            return timezone(timedelta(milliseconds=offset))
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise ValueError(f"unknown time zone {shown(name)}: expected a name such as 'Europe/Paris' or 'GMT+5:30'") from None


cdef object offset_of(str text):
    """Return the ms of an offset such as +5, +05:30 or +0530; None: it is none."""
    digits = text[1:]
    hours, colon, minutes = digits.partition(":")
    if not colon:
        hours, minutes = (digits, "0") if len(digits) <= 2 else (digits[:len(digits) - 2], digits[len(digits) - 2:])
    if not (hours.isdecimal() and minutes.isdecimal()) or len(hours) > 2 or len(minutes) > 2:
        return None
    if int(hours) > 18 or int(minutes) > 59:
        return None
    total = (int(hours) * 60 + int(minutes)) * 60_000
    return -total if text[0] == "-" else total


cdef Zone SYSTEM = Zone()
cdef Zone UTC = Zone("UTC")
cdef dict zones = {}


cdef Zone zone_of(str name):
    cdef Zone zone = zones.get(name)
    if zone is None:
        zone = Zone(name)
        if len(zones) >= MOST_KEPT:
            zones.clear()
        zones[name] = zone
    return zone


def forget_system_zone():
    """Read the time zone of the system again: it has changed."""
    global SYSTEM
    SYSTEM = Zone()


# --- formats

cdef str digits(int64_t value, Py_ssize_t width):
    text = str(value)
    return text if len(text) >= width else "0" * (width - len(text)) + text


cdef str offset_text(int64_t offset, str colon, bint minutes):
    cdef int64_t total = abs(offset) // 60_000
    sign = "-" if offset < 0 else "+"
    return f"{sign}{total // 60:02}{colon}{total % 60:02}" if minutes or total % 60 else f"{sign}{total // 60:02}"


cdef class DateFormat:
    """A date pattern; ``fields`` are those of library/namespaces/date_patterns.py."""

    cdef tuple fields
    cdef str pattern
    cdef bint is_default           # yyyy-MM-dd HH:mm:ss.SSS, by far the most frequent

    def __init__(self, str pattern, tuple fields):
        self.pattern, self.fields = pattern, fields
        self.is_default = pattern == DEFAULT

    cdef str format(self, int64_t time, Zone zone):
        """Return the text of an instant."""
        cdef int64_t offset = zone.offset_at(time)
        cdef DateC date
        cdef list parts = []
        split(time + offset, &date)
        if self.is_default:
            return (f"{date.year:04}-{date.month:02}-{date.day:02} {date.hour:02}:{date.minute:02}:{date.second:02}."
                    f"{date.milli:03}")
        for field in self.fields:
            if type(field) is str:
                parts.append(field)
            else:
                parts.append(self.text_of(<str> field[0], <int> field[1], &date, time, offset, zone))
        return "".join(parts)

    cdef str text_of(self, str letter, int count, const DateC* date, int64_t time, int64_t offset, Zone zone):
        cdef int weekday
        if letter == "y":
            return digits(date.year % 100, 2) if count == 2 else digits(date.year, count)
        if letter == "M" or letter == "L":
            if count >= 3:
                return MONTHS[date.month - 1] if count > 3 else MONTHS[date.month - 1][:3]
            return digits(date.month, count)
        if letter == "d":
            return digits(date.day, count)
        if letter == "H":
            return digits(date.hour, count)
        if letter == "m":
            return digits(date.minute, count)
        if letter == "s":
            return digits(date.second, count)
        if letter == "S":
            return digits(date.milli, count)
        if letter == "a":
            return "AM" if date.hour < 12 else "PM"
        if letter == "h":
            return digits((date.hour + 11) % 12 + 1, count)
        if letter == "K":
            return digits(date.hour % 12, count)
        if letter == "k":
            return digits(date.hour or 24, count)
        weekday = <int> ((date.days % 7 + 10) % 7)           # Monday is 0
        if letter == "E":
            return DAYS[weekday] if count > 3 else DAYS[weekday][:3]
        if letter == "u":
            return digits(weekday + 1, count)
        if letter == "D":
            return digits(date.days - days_of(date.year, 1, 1) + 1, count)
        if letter == "F":
            return digits((date.day - 1) // 7 + 1, count)
        if letter == "w":
            return digits(week_of(date, True, False), count)
        if letter == "W":
            return digits(week_of(date, True, True), count)
        if letter == "Y":
            year = date.year + (date.month == 12 and week_of(date, True, False) == 1)
            return digits(year % 100, 2) if count == 2 else digits(year, count)
        if letter == "G":
            return "AD"
        if letter == "Z":
            return offset_text(offset, "", True)
        if letter == "X":
            return "Z" if offset == 0 else offset_text(offset, ":" if count == 3 else "", count > 1)
        return zone.name_at(time)

    cdef int64_t parse(self, str text, Zone zone) except? -1:
        """Return the instant that a text stands for. Raise ValueError if it does not fit the pattern."""
        cdef Py_ssize_t at = 0, i, end, n = len(text)
        cdef int64_t year = 1970, number = 0
        cdef int month = 1, day = 1, hour = -1, half_hour = -1, minute = 0, second = 0, milli = 0
        cdef bint afternoon = False, has_offset = False
        cdef int64_t offset = 0
        cdef str letter
        cdef int count
        cdef Zone other = None
        for i in range(len(self.fields)):
            field = self.fields[i]
            if type(field) is str:
                if not text.startswith(field, at):
                    raise self.unreadable(text)
                at += len(<str> field)
                continue
            letter, count = field
            if letter == "E":
                at = self.name(text, at, DAYS, &number)
            elif (letter == "M" or letter == "L") and count >= 3:
                at = self.name(text, at, MONTHS, &number)
                month = <int> number + 1
            elif letter == "a":
                if text[at:at + 2].upper() not in ("AM", "PM"):
                    raise self.unreadable(text)
                afternoon = text[at:at + 2].upper() == "PM"
                at += 2
            elif letter == "Z" or letter == "X" or letter == "z":
                end = at
                while end < n and (text[end].isalnum() or text[end] in "+-:/_"):
                    end += 1
                name = text[at:end]
                at = end
                if name[:1] in ("+", "-"):
                    found = offset_of(name)
                    if found is None:
                        raise self.unreadable(text)
                    offset = found
                    has_offset = True
                elif name == "Z" or letter == "z":
                    other = zone_of(name)
                else:
                    raise self.unreadable(text)
            else:
                end = at
                # Fields of digits that follow each other have the width of their letters.
                limit = at + count if self.is_followed_by_digits(i) else n
                while end < n and end < limit and c'0' <= <int> <Py_UCS4> text[end] <= c'9':
                    end += 1
                if end == at or end - at > 9:
                    raise self.unreadable(text)
                number = int(text[at:end])
                if letter == "y":
                    year = number if count != 2 or end - at != 2 else number + (2000 if number < 70 else 1900)
                elif letter == "M" or letter == "L":
                    month = <int> number
                elif letter == "d":
                    day = <int> number
                elif letter == "H":
                    hour = <int> number
                elif letter == "k":
                    hour = <int> number % 24 if number <= 24 else 99
                elif letter == "h":
                    half_hour = <int> number % 12 if 1 <= number <= 12 else 99
                elif letter == "K":
                    half_hour = <int> number if number < 12 else 99
                elif letter == "m":
                    minute = <int> number
                elif letter == "s":
                    second = <int> number
                elif letter == "S":
                    milli = <int> number
                else:
                    raise ValueError(f"date pattern '{self.pattern}' cannot read texts: '{letter}' is only for output")
                at = end
        if hour < 0:
            hour = 0 if half_hour < 0 else 99 if half_hour == 99 else half_hour + (12 if afternoon else 0)
        if at < n or not (1 <= month <= 12 and 1 <= year <= 9999 and hour < 24 and minute < 60 and second < 60 and
                          milli < 1000):
            raise self.unreadable(text)
        if day < 1 or day > days_in(year, month):
            raise self.unreadable(text)
        cdef int64_t local = days_of(year, month, day) * DAY + ((hour * 60 + minute) * 60 + second) * <int64_t> 1000 + milli
        if has_offset:
            return local - offset
        if other is None:
            other = zone
        return other.instant_of(local)

    cdef bint is_followed_by_digits(self, Py_ssize_t i):
        if i + 1 >= len(self.fields) or type(self.fields[i + 1]) is str:
            return False
        letter, count = self.fields[i + 1]
        return letter in "yduHkKhmsSDF" or (letter in "ML" and count < 3)

    cdef Py_ssize_t name(self, str text, Py_ssize_t at, tuple names, int64_t* number) except -1:
        """Return the position after a name, whole or its first three letters, in any case; write its index."""
        cdef int k
        for size in (9, 8, 7, 6, 5, 4, 3):
            part = text[at:at + size].capitalize()
            for k in range(len(names)):
                if part == names[k] or (size == 3 and part == names[k][:3]):
                    number[0] = k
                    return at + len(part)
        raise self.unreadable(text)

    cdef object unreadable(self, str text):
        return ValueError(f"{shown(text)} is not a date of the pattern '{self.pattern}'")


# --- functions

cdef class Dates:
    """The functions of the namespace. None is null: it makes the result None.

    Args:
        compile: function from a pattern to its fields.
    """

    cdef object compile
    cdef dict formats

    def __init__(self, compile not None):
        self.compile = compile
        self.formats = {}

    cdef DateFormat format_of(self, str pattern):
        cdef DateFormat found = self.formats.get(pattern)
        if found is None:
            if len(self.formats) >= MOST_KEPT:
                self.formats.clear()
            found = self.formats[pattern] = DateFormat(pattern, self.compile(pattern))
        return found

    cdef object time_of(self, value, pattern):
        """Return the ms of a value: a time in ms itself, or the date of a text; None for null."""
        if value is None or pattern is None:
            return None
        if type(value) is int:
            return value
        return self.format_of(pattern).parse(value, SYSTEM)

    def current_date(self, int64_t now):
        return self.format_of("yyyy-MM-dd").format(now, SYSTEM)

    def current_time(self, int64_t now):
        return self.format_of("HH:mm:ss").format(now, SYSTEM)

    def current_timestamp(self, int64_t now, *zone):
        if None in zone:
            return None
        return self.format_of("yyyy-MM-dd HH:mm:ss").format(now, zone_of(zone[0]) if zone else SYSTEM)

    def utc_timestamp(self, int64_t now, pattern="yyyy-MM-dd HH:mm:ss"):
        return None if pattern is None else self.format_of(pattern).format(now, UTC)

    def timestamp(self, value, pattern=DEFAULT):
        return self.time_of(value, pattern)

    def date(self, value, pattern=DEFAULT):
        time = self.time_of(value, pattern)
        return None if time is None else self.format_of("yyyy-MM-dd").format(time, SYSTEM)

    def day_of_week(self, value, pattern=DEFAULT):
        time = self.time_of(value, pattern)
        return None if time is None else self.format_of("EEEE").format(time, SYSTEM)

    def format(self, value, target, pattern=DEFAULT):
        time = self.time_of(value, pattern)
        return None if time is None or target is None else self.format_of(target).format(time, SYSTEM)

    def difference(self, one, other, pattern=DEFAULT, other_pattern=None):
        first, second = self.time_of(one, pattern), self.time_of(other, pattern if other_pattern is None else other_pattern)
        if first is None or second is None:
            return None
        days = abs(first - second) // DAY
        return days if first >= second else -days

    def difference_of(self, one, other, pattern, other_pattern):
        return None if other_pattern is None else self.difference(one, other, pattern, other_pattern)

    def add(self, value, amount, unit, pattern=DEFAULT):
        time = self.time_of(value, pattern)
        if time is None or amount is None or unit is None:
            return None
        return self.format_of(pattern).format(later(time, amount, unit), SYSTEM)

    def subtract(self, value, amount, unit, pattern=DEFAULT):
        return self.add(value, None if amount is None else -amount, unit, pattern)

    def extract(self, unit, value, pattern=DEFAULT, locale="en_US"):
        time = self.time_of(value, pattern)
        if time is None or unit is None or locale is None:
            return None
        return part_of(time, unit, locale)

    def extract_of_time(self, value, unit, locale="en_US"):
        return self.extract(unit, value, DEFAULT, locale)

    def convert(self, value, pattern, target, source=None):
        cdef DateFormat format
        if value is None or pattern is None or target is None:
            return None
        format = self.format_of(pattern)
        return format.format(format.parse(value, SYSTEM if source is None else zone_of(source)), zone_of(target))

    def convert_between(self, value, pattern, target, source):
        return None if source is None else self.convert(value, pattern, target, source)


cdef int unit_of(str unit) except -1:
    try:
        return UNITS.index(unit.upper())
    except ValueError:
        raise ValueError(f"unknown unit of time {shown(unit)}: expected one of {', '.join(UNITS)}") from None


cdef int64_t later(int64_t time, int64_t amount, str unit) except? -1:
    """Return the time after an amount of units: seconds to hours in real time, days and longer on the local calendar."""
    cdef int which = unit_of(unit)
    cdef DateC date
    cdef int64_t local, months
    if which >= 5:
        return time + amount * (3_600_000 if which == 5 else 60_000 if which == 6 else 1000)
    local = time + SYSTEM.offset_at(time)
    if which >= 3:
        return SYSTEM.instant_of(local + amount * (7 * DAY if which == 3 else DAY))
    split(local, &date)
    months = date.year * 12 + date.month - 1 + amount * (12 if which == 0 else 3 if which == 1 else 1)
    date.year = floor_div(months, 12)
    date.month = <int> (months - 12 * date.year) + 1
    date.day = min(date.day, days_in(date.year, date.month))
    return SYSTEM.instant_of(days_of(date.year, date.month, date.day) * DAY + local - floor_div(local, DAY) * DAY)


cdef int part_of(int64_t time, str unit, str locale) except? -1:
    cdef int which = unit_of(unit)
    cdef DateC date
    split(time + SYSTEM.offset_at(time), &date)
    if which == 0:
        return <int> date.year
    if which == 1:
        return (date.month + 2) // 3
    if which == 2:
        return date.month
    if which == 3:
        return week_of(&date, locale.replace("-", "_").partition("_")[2].upper() in SUNDAY_FIRST, False)
    return date.day if which == 4 else date.hour if which == 5 else date.minute if which == 6 else date.second


# Countries whose calendars begin the week on Sunday and count a week with one day; elsewhere ISO 8601 holds.
SUNDAY_FIRST = frozenset("US CA MX BR JP IL IN KR TW ZA PH CO".split())
