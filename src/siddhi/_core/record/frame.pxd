# The frame: what every operator and expression of an app sees besides the current event, and the results of evaluation.

from libc.stdint cimport int32_t, int64_t, uint32_t

from siddhi._core.record.event cimport CellC, EventC

cdef enum:
    FALSE = 0
    TRUE = 1
    VALUE = 1
    NULL_VALUE = 2

cdef enum:
    MAX_BLOCK = 256                # events of a block at the most

cdef struct SlowedC:           # the live clock, after the system's clock was set back: see live_ms()
    int64_t since              # ms of the monotonic clock when that was noticed; 0: the system's clock is in front
    int64_t start              # ms; what the app's clock showed then

cdef struct FrameC:            # what expressions can see besides the current event; one per app
    EventC** slots             # events of a join or pattern, by slot; entries may be NULL
    EventC* output             # the output event (having, order by, table conditions)
    EventC* row                # the table row (table conditions)
    uint32_t partition         # slot of the current partition key; 0 outside partitions
    uint32_t group             # slot of the current group: where aggregators find their state
    int32_t type               # CURRENT or EXPIRED: whether aggregators add or take away
    bint playback
    int64_t clock              # ms; in playback the app's clock, else the latest time that it showed
    SlowedC slowed

# The system's clock in ms since 1970, between 0 and LATEST; set_system_clock() replaces it in tests.
cdef int64_t system_ms() noexcept

# The clock of an app that is not in playback, in ms. It never goes back: while the system's clock is behind what it
# showed, it goes on from there at nine tenths of the pace of time, until the system's clock has caught up.
cdef int64_t live_ms(FrameC* f) noexcept

cdef inline int64_t now_ms(FrameC* f) noexcept:
    """The app's clock in ms: the playback clock, or the live one."""
    return f.clock if f.playback else live_ms(f)

cdef object box(int status, int type, const CellC* value)
cdef int unbox(object value, int type, CellC* out) except -1
