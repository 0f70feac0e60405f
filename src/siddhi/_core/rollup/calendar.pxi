# Calendar: buckets of time, and times as text.

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

from siddhi._core.record.instant cimport EARLIEST

cdef enum:
    SECOND_MS = 1000
    MINUTE_MS = 60000
    HOUR_MS = 3600000
    DAY_MS = 86400000


@cython.final
cdef class Calendar:
    """Computes the boundaries of buckets.

    Args:
        bounds_in_zone: fn(length, time in ms) -> (start, end) of the bucket of an hour or more; None: GMT.
    """

    def __init__(self, bounds_in_zone=None):
        self.bounds_in_zone = bounds_in_zone

    cdef int bounds(self, int length, int64_t time, int64_t* start, int64_t* end) except -1:
        """Compute the bucket [start, end) that contains a time, in ms."""
        cdef int64_t size
        if length >= HOUR and self.bounds_in_zone is not None:
            start[0], end[0] = self.bounds_in_zone(length, time)
            return 0
        if length <= DAY:
            size = (SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS)[length]
            start[0] = time - floor_mod(time, size)
            end[0] = start[0] + size
            start[0] = max(start[0], EARLIEST)
            return 0
        month_bounds(time, length == YEAR, start, end)
        start[0] = max(start[0], EARLIEST)
        return 0

    def bucket(self, int length, int64_t time):
        """Return start and end (ms) of the bucket that contains a time."""
        cdef int64_t start = 0, end = 0
        self.bounds(length, time, &start, &end)
        return start, end


cdef inline int64_t floor_mod(int64_t value, int64_t size) noexcept:
    cdef int64_t rest = value % size
    return rest + size if rest < 0 else rest


cdef void month_bounds(int64_t time, bint whole_year, int64_t* start, int64_t* end) noexcept:
    """Compute the month or year of a time in the proleptic Gregorian calendar, with years that begin in March."""
    cdef int64_t days = (time - floor_mod(time, DAY_MS)) // DAY_MS + 719468
    cdef int64_t era = (days if days >= 0 else days - 146096) // 146097
    cdef int64_t of_era = days - era * 146097
    cdef int64_t year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    cdef int64_t day_of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    cdef int64_t shifted = (5 * day_of_year + 2) // 153
    cdef int month = <int> (shifted + 3 if shifted < 10 else shifted - 9)
    cdef int64_t year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    if whole_year:
        start[0] = days_of(year, 1, 1) * DAY_MS
        end[0] = days_of(year + 1, 1, 1) * DAY_MS
    else:
        start[0] = days_of(year, month, 1) * DAY_MS
        end[0] = days_of(year + (month == 12), 1 if month == 12 else month + 1, 1) * DAY_MS


cdef int64_t days_of(int64_t year, int month, int day) noexcept:
    """Return the days from the epoch to a date."""
    cdef int64_t y = year - (1 if month <= 2 else 0)
    cdef int64_t era = (y if y >= 0 else y - 399) // 400
    cdef int64_t year_of_era = y - era * 400
    cdef int64_t day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719468


cdef int number_at(const char* text, int at, int n) noexcept:
    """Return the number of n digits at an index, or -1."""
    cdef int i, value = 0
    for i in range(at, at + n):
        if not c'0' <= text[i] <= c'9':
            return -1
        value = 10 * value + (text[i] - c'0')
    return value


cdef int64_t time_of_text(str text) except? -1:
    """Return the time (ms) of ``yyyy-MM-dd HH:mm:ss``, in GMT or with an offset ``+HH:mm`` after it."""
    cdef Py_ssize_t n = 0
    cdef const char* at = PyUnicode_AsUTF8AndSize(text, &n)
    cdef int year, month, day, hour, minute, second, offset = 0, hours, minutes
    cdef int64_t days
    if (n == 19 or n == 26) and (
        at[4] == c'-' and at[7] == c'-' and at[10] == c' ' and at[13] == c':' and at[16] == c':'
    ):
        year, month, day = number_at(at, 0, 4), number_at(at, 5, 2), number_at(at, 8, 2)
        hour, minute, second = number_at(at, 11, 2), number_at(at, 14, 2), number_at(at, 17, 2)
        if n == 26:
            hours, minutes = number_at(at, 21, 2), number_at(at, 24, 2)
            if at[19] != c' ' or at[23] != c':' or not 0 <= hours <= 23 or not 0 <= minutes <= 59:
                year = -1
            elif at[20] == c'+':
                offset = hours * 60 + minutes
            elif at[20] == c'-':
                offset = -(hours * 60 + minutes)
            else:
                year = -1
        if year >= 0 and 1 <= month <= 12 and 0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= second <= 59 and day >= 1:
            days = days_of(year, month, day)
            if days < days_of(year + (month == 12), 1 if month == 12 else month + 1, 1):
                return days * DAY_MS + hour * <int64_t> HOUR_MS + (minute - offset) * MINUTE_MS + second * SECOND_MS
    raise ValueError(f"'{text}' is not a time: write 'yyyy-MM-dd HH:mm:ss', followed by an offset '+HH:mm' if not GMT")


def parse_time_text(str text not None):
    """Return the time in ms since the epoch of ``yyyy-MM-dd HH:mm:ss[ +HH:mm]``; ValueError for any other text."""
    return time_of_text(text)
