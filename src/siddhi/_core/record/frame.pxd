# The frame: the context that all operators and expressions of an app share, besides the current event. Also the status
# codes of evaluation.

from libc.stdint cimport int32_t, int64_t, uint32_t

from siddhi._core.record.event cimport CellC, EventC

cdef enum:
    FALSE = 0
    TRUE = 1
    VALUE = 1
    NULL_VALUE = 2

cdef enum:
    MAX_BLOCK = 256                # maximal number of events of a block

cdef struct SlowedC:           # state of the live clock after the system's clock was set back, see live_ms()
    int64_t since              # ms of the monotonic clock when this was detected; 0: the app's clock follows the system's
    int64_t start              # ms of the app's clock at that time

cdef struct FrameC:            # context of expressions; one per app
    EventC** slots             # events of a join or pattern, by slot; entries may be NULL
    EventC* output             # the output event (having, order by, table conditions)
    EventC* row                # the table row (table conditions)
    uint32_t partition         # id of the current partition key; 0 outside partitions
    uint32_t group             # id of the current group: where aggregators find their state
    int32_t type               # CURRENT or EXPIRED: whether aggregators add or remove
    bint playback
    int64_t clock              # ms; in playback the app's clock, else the latest time that it returned
    SlowedC slowed

# Return the system's clock in ms since 1970, between 0 and LATEST; set_system_clock() replaces it in tests.
cdef int64_t system_ms() noexcept

# Return the clock of an app that is not in playback, in ms. It never goes back: while the system's clock shows an
# earlier time, the app's clock runs at nine tenths of real time until the system's clock has caught up.
cdef int64_t live_ms(FrameC* f) noexcept

cdef inline int64_t now_ms(FrameC* f) noexcept:
    """Return the app's clock in ms: the playback clock or the live one."""
    return f.clock if f.playback else live_ms(f)

cdef object box(int status, int type, const CellC* value)
cdef int unbox(object value, int type, CellC* out) except -1
