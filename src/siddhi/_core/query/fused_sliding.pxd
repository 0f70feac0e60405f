# Fused window aggregate: a sliding window and its selection in one operator, for sums, averages and counts.
#
# Of an event only its group id and its arguments are kept. This replaces a LengthWindow (or time window) and a Selector
# on whole records, in a third of the time and a fraction of the memory. planner/rules/fuse_window_aggregate.py decides
# where the results are equal.
#
# Three kinds of extent: the last `extent` events; events younger than `extent` ms by the app's clock; the same by an
# attribute. Expired events affect only accumulators, so no timers are needed: due events leave before the next one
# enters. A timer's own chunk shows only in groups that are dropped before that.

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
    cdef str attribute             # BY_ATTRIBUTE: name of the attribute, and its location in the stream's record
    cdef int32_t cell
    cdef int32_t word
    cdef uint64_t bit
    cdef bint simple               # plain attributes and bare accumulators only: rows can be filled at once
    cdef int* accumulator_of       # [n_columns] accumulator of a column, -1: a plain attribute
    cdef uint64_t* results         # [accumulators][MAX_BLOCK] for blocks passed on as records
    cdef uint8_t* known            # same shape; 1: value, 0: null
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
