# Times: ms since 1970, from EARLIEST to LATEST (2^62 ms, the year 146,140,482). The times of events, what their attributes
# say where windows and aggregations go by them, and clocks are checked where they come in. Durations have LONGEST ms at the
# most; the planner refuses longer ones. So time + duration fits 64 bits everywhere; it may be behind LATEST, and no clock
# gets there. Where more than one duration is added, later() stops at the last number there is.

from libc.stdint cimport int64_t, uint64_t

cdef extern from *:
    """
    #define SIDDHI_LATEST ((int64_t)1 << 62)
    #define SIDDHI_EARLIEST (-SIDDHI_LATEST)
    #define SIDDHI_LONGEST (SIDDHI_LATEST - 1)
    """
    const int64_t LATEST "SIDDHI_LATEST"
    const int64_t EARLIEST "SIDDHI_EARLIEST"
    const int64_t LONGEST "SIDDHI_LONGEST"
    const int64_t INT64_MAX
    const int64_t INT64_MIN

cdef inline bint is_instant(int64_t time) noexcept:
    return EARLIEST <= time <= LATEST

cdef inline int64_t later(int64_t time, int64_t duration) noexcept:
    """time + duration, which is not negative, or the last number."""
    return time + duration if time <= INT64_MAX - duration else INT64_MAX

# Raise ValueError: `what` (such as "timestamp") is not a time.
cdef int refuse_instant(object time, str what) except -1

cdef inline int check_instant(int64_t time, str what) except -1:
    return 0 if is_instant(time) else refuse_instant(time, what)

# Any integer (numpy's, too) as a time. TypeError: it is none; ValueError: it is out of range.
cdef int64_t read_instant(object time, str what) except? -1

# Looks at the timestamps that come to a stream from outside: one comparison, as long as they are of the kind of the one
# before (ms of our time; small numbers, as in tests; anything, once the warning was given).
cdef class TimestampCheck:
    cdef int64_t low
    cdef uint64_t span
    cdef bint warned
    cdef str app
    cdef str stream
    # ValueError: it is out of range.
    cdef int look(self, int64_t time) except -1
    cdef void expect(self, int64_t low, int64_t high) noexcept
    cdef int warn(self, int64_t time) except -1

cdef inline bint is_usual(TimestampCheck check, int64_t time) noexcept:
    """Whether it need not be looked at."""
    return <uint64_t> time - <uint64_t> check.low <= check.span
