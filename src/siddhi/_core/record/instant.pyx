"""Checks of times, and a warning about timestamps that seem to be in another unit than ms."""

cimport cython
from cpython.long cimport PyLong_CheckExact

import logging
import operator
from datetime import datetime, timedelta, timezone

from siddhi.errors import shown

cdef object index_of = operator.index
cdef object logger = logging.getLogger("siddhi")
cdef object EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
cdef object MILLISECOND = timedelta(milliseconds=1)

cdef int64_t SECONDS_FROM = 1_000_000_000          # 2001 in seconds; in ms, the twelfth day of 1970
cdef int64_t SECONDS_TO = 4_000_000_000            # 2096
cdef int64_t MS_TO = 7_258_118_400_000             # 2200 in ms


cdef int refuse_instant(object time, str what) except -1:
    raise ValueError(f"{what} {shown(time)} is out of range: times are ms since 1970, from -2^62 to 2^62")


cdef bint is_date_time(object value) except -1:
    return isinstance(value, datetime) or (type(value).__name__ == "datetime64" and type(value).__module__ == "numpy")


cdef object ms_of(object time, str what):
    """Return the ms of a date-time, rounded down."""
    if time != time:
        raise ValueError(f"a {what} can't be {time!r}")
    if not isinstance(time, datetime):
        return int(time.astype("datetime64[ms]").astype("int64"))
    if time.tzinfo is None or time.utcoffset() is None:
        raise TypeError(f"a {what} needs a time zone, which {time!r} has not: for UTC write "
                        "time.replace(tzinfo=timezone.utc), for this machine's zone time.astimezone()")
    return (time - EPOCH) // MILLISECOND


cdef int64_t read_instant(object time, str what) except? -1:
    """Return an integer, also one of numpy, a datetime with a zone or a numpy.datetime64 as ms."""
    cdef object number
    if isinstance(time, bool):
        raise TypeError(f"a {what} is an integer (ms since the epoch), not {shown(time)}")
    if is_date_time(time):
        number = ms_of(time, what)
    else:
        try:
            number = index_of(time)
        except TypeError:
            raise TypeError(f"a {what} is an integer (ms since the epoch), a datetime with a zone or a numpy.datetime64, "
                            f"not {shown(time)}") from None
    if not EARLIEST <= number <= LATEST:
        refuse_instant(number, what)
    return number


def times_as_ms(tuple values not None, str what not None):
    """Return values with date-times replaced by ms; NaT stays.

    Raises:
        ValueError: a date-time has no zone, or is out of range.
    """
    cdef Py_ssize_t i
    cdef list converted = None
    for i in range(len(values)):
        value = values[i]
        if not PyLong_CheckExact(value) and is_date_time(value) and value == value:
            if converted is None:
                converted = list(values)
            try:
                converted[i] = read_instant(value, what)
            except (TypeError, ValueError) as error:
                raise ValueError(f"row {i}: {error}") from None
    return values if converted is None else tuple(converted)


@cython.final
cdef class TimestampCheck:
    """Reject timestamps out of range, and warn once about timestamps that seem not to be in ms.

    Args:
        app, stream: their names, for the warning.
    """

    def __init__(self, str app not None, str stream not None):
        self.app = app
        self.stream = stream
        self.expect(SECONDS_TO + 1, MS_TO)

    cdef void expect(self, int64_t low, int64_t high) noexcept:
        self.low = low
        self.span = <uint64_t> high - <uint64_t> low

    cdef int look(self, int64_t time) except -1:
        if not is_instant(time):
            refuse_instant(time, "timestamp")
        if time < 0 and not self.warned_early:
            self.warned_early = True
            logger.warning(
                "app '%s', stream '%s': timestamp %d is before 1970: the app's clock starts at 1970, so such events do not "
                "advance it, and windows and patterns with a time wait for later ones", self.app, self.stream, time)
        if self.warned:
            self.expect(EARLIEST if self.warned_early else 0, LATEST)
        elif time < SECONDS_FROM:
            self.expect(EARLIEST if self.warned_early else 0, SECONDS_FROM - 1)
        elif SECONDS_TO < time <= MS_TO:
            self.expect(SECONDS_TO + 1, MS_TO)
        else:
            self.warned = True
            self.expect(EARLIEST if self.warned_early else 0, LATEST)
            self.warn(time)
        return 0

    cdef int warn(self, int64_t time) except -1:
        if time <= SECONDS_TO:
            unit, seconds, change = "seconds", time, "multiply them by 1000"
        elif time // 1000 <= MS_TO:
            unit, seconds, change = "microseconds", time // 1_000_000, "divide them by 1000"
        else:
            unit, seconds, change = "nanoseconds", time // 1_000_000_000, "divide them by 1,000,000"
        logger.warning(
            "app '%s', stream '%s': timestamp %d seems to be in %s (%s); it is taken as milliseconds since 1970, as all "
            "timestamps are: %s", self.app, self.stream, time, unit,
            (EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%d"), change)
        return 0
