# Base of the output rate limiters.
#
# A limiter has one state per partition id and one cell per group id; without group by, the cell index is the partition id.
# The cells in use of a partition are linked in order of first appearance. Records come from the selection with one
# reference, so the limiter may link buffered records through `next`. With group by, records carry their group in
# EventC.group (group id + 1), which is cleared before they are emitted.

from libc.stdint cimport int64_t, uint32_t, uint8_t

from siddhi._core.aggregate.group cimport GroupBy
from siddhi._core.expression.executor cimport Executor
from siddhi._core.query.output cimport RateLimiter
from siddhi._core.query.selector cimport Selector
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef enum:
    NO_TICK = -1                   # value of LimiterState.due: no tick is scheduled yet
    FIRST_INSTANT = 0              # likewise in playback before the first event, which starts the ticks

cdef enum:
    ANEW = 4                       # flag of an event between selection and limiter: its group was dropped and began again

cdef struct GroupCellC:
    EventChunk rows
    EventC* latest
    int64_t value
    int64_t shown                  # number of the last snapshot output that contained the group
    uint32_t previous              # group id + 1 of the linked neighbours, 0: none
    uint32_t following
    uint8_t linked
    uint8_t pinned                 # its group has events between selection and limiter
    uint8_t anew                   # its group was dropped and has begun again after some of these events

cdef class LimiterState:
    cdef EventPool pool
    cdef EventChunk buffered
    cdef int64_t count
    cdef int64_t due               # time of the scheduled tick, ms; while resting, at most that of the next tick
    cdef bint resting              # the state is empty: no tick is scheduled until the next event
    cdef uint32_t first            # group id + 1 of the first and last linked cell, 0: none
    cdef uint32_t last

cdef class Limiter(RateLimiter):
    cdef readonly EventPool pool
    cdef bint grouped
    cdef int64_t period            # ms between ticks, 0: none
    cdef list states               # LimiterState by partition id, or None
    cdef GroupCellC* cells         # [capacity] by group id
    cdef uint32_t capacity
    cdef LimitedGroups groups      # set if groups may be dropped while the limiter has state of them, else None
    cdef bint judges               # the limiter applies `having`: rejected events come too, marked (EventC.stamp)
    cdef bint repeats              # it emits at every tick, also if no event came
    cdef Executor having
    cdef list pins                 # group ids pinned since the last chunk came
    cdef set awaited               # partition ids whose states are to be read from a snapshot
    cdef LimiterState current_state(self)
    cdef uint32_t group_of(self, EventC* event) except? 0xfffffffe
    cdef int begin_anew(self, uint32_t group_id) except -1
    cdef int reserve(self, uint32_t group_id) except -1
    cdef EventC* mark(self, EventC* event, EventC* out) except? NULL
    cdef int pin(self, uint32_t group_id) except -1
    cdef int unpin(self) except -1
    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1      # takes over the reference
    cdef int tick(self, LimiterState state, EventChunk* out) except -1
    cdef int order_tick(self, LimiterState state) except -1
    cdef int rest(self, LimiterState state, int64_t due) except -1
    cdef int wake(self, LimiterState state) except -1
    cdef int turn(self, LimiterState state, EventChunk* out) except -1
    cdef int hand_on(self, EventChunk* out) except -1
    cdef int clear(self) except -1
    cdef int complete(self) except -1
    cdef int read_states(self, SnapshotReader reader, uint32_t n_groups) except -1
    cdef bint is_of(self, uint32_t group_id, uint32_t partition) noexcept
    cdef int resume(self, LimiterState state) except -1
    cdef void empty(self, GroupCellC* cell) noexcept
    cdef void link(self, LimiterState state, uint32_t group_id) noexcept
    cdef int unlink(self, LimiterState state, uint32_t group_id) except -1
    cdef int forget(self, LimiterState state) except -1
    cdef int write_cell(self, GroupCellC* cell, SnapshotWriter writer) except -1
    cdef int read_cell(self, GroupCellC* cell, SnapshotReader reader, uint32_t n_slots) except -1

cdef class LimitedGroups(GroupBy):
    cdef Limiter limiter
    cdef int drop_unused(self, uint32_t group_id) except -1

cdef class LimitedSelector(Selector):
    cdef Limiter limiter
