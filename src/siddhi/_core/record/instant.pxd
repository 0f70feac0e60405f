# Times: ms since 1970, from EARLIEST to LATEST (2^62 ms, the year 146,140,482). Timestamps of
# events, attributes that windows and aggregations use as times, and clocks are checked at input. Durations are at most
# LONGEST ms; the planner rejects longer ones. So time + duration fits in 64 bits, and no clock reaches a sum beyond LATEST.
# later() saturates, for sums of several durations.

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
    """Return time + duration, saturated at INT64_MAX; the duration is not negative."""
    return time + duration if time <= INT64_MAX - duration else INT64_MAX

# Raise ValueError: `time` is out of range; `what` says what it is, such as "timestamp".
cdef int refuse_instant(object time, str what) except -1

cdef inline int check_instant(int64_t time, str what) except -1:
    return 0 if is_instant(time) else refuse_instant(time, what)

# Convert an integer, also one of numpy, to a time. TypeError: not an integer; ValueError: out of range.
cdef int64_t read_instant(object time, str what) except? -1

# Checks the timestamps that enter a stream. This takes one comparison while they lie in the range of the one before:
# present dates in ms, or small numbers as in tests. After the warning was logged, the range is that of all times.
cdef class TimestampCheck:
    cdef int64_t low
    cdef uint64_t span
    cdef bint warned_early             # about a time before 1970
    cdef bint warned
    cdef str app
    cdef str stream
    # ValueError: out of range.
    cdef int look(self, int64_t time) except -1
    cdef void expect(self, int64_t low, int64_t high) noexcept
    cdef int warn(self, int64_t time) except -1

cdef inline bint is_usual(TimestampCheck check, int64_t time) noexcept:
    """Return whether the time lies in the expected range."""
    return <uint64_t> time - <uint64_t> check.low <= check.span
