# A sliding window and the selection over it in one step, for sums, averages and counts: nothing is kept of an event but
# its group id and its arguments. What a LengthWindow and a Selector would do with whole records, in a third of
# the time and a fraction of the memory; planner/rules/fuse_window_aggregate.py says
# where nobody could tell the difference.
#
# Three ways of holding: the last `extent` events; events younger than `extent` ms by the app's clock; the same by an
# attribute. Expired events concern the accumulators alone, so that no timers are needed: what is due leaves
# before the next event enters, and a timer's chunk of its own shows only in groups being dropped before that.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from siddhi._core.aggregate.accumulator cimport Accumulators
from siddhi._core.query.selector cimport Selector
from siddhi._core.record.event cimport EventC
from siddhi._core.runtime.ring cimport CompactRingC, CompactRings
from siddhi._core.stream.callback cimport BatchCallback

cdef enum SlidingKind:
    BY_LENGTH
    BY_TIME
    BY_ATTRIBUTE

cdef class SlidingAggregate(Selector):
    cdef Accumulators accumulators
    cdef CompactRings rings
    cdef int kind
    cdef int64_t extent
    cdef str attribute             # BY_ATTRIBUTE: its name, and where it is in the stream's record
    cdef int32_t cell
    cdef int32_t word
    cdef uint64_t bit
    cdef bint simple               # plain attributes and bare accumulators, nothing behind them: rows can be filled at once
    cdef int* accumulator_of       # [n_columns] the accumulator a column shows, -1: a plain attribute
    cdef uint64_t* results         # [accumulators][MAX_BLOCK] for blocks that go on as records
    cdef uint8_t* known            # the same: 1 value, 0 null
    cdef int expire_oldest(self, CompactRingC* ring) except -1
    cdef int make_room(self, CompactRingC* ring, int64_t now) except -1
    cdef uint32_t admit(self, EventC* event, CompactRingC* ring, int64_t time, const uint64_t* values,
                        uint32_t nulls) except? 0xfffffffe
    cdef uint32_t roll(self, EventC* event) except? 0xfffffffe
    cdef int64_t time_of(self, const EventC* event) except? -1
    cdef EventC* fill(self, EventC* event, uint32_t group_id) except NULL
    cdef int slide(self, EventC** events, Py_ssize_t n, uint64_t** data, uint8_t** valid) except -1
    cdef int collect_block(self, EventC** events, Py_ssize_t n, BatchCallback sink) except -1
    cdef int pass_block(self, EventC** events, Py_ssize_t n) except -1
