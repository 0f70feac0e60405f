# Predicate index of a stream: the receivers that an event concerns, where many of them begin with conditions on single
# attributes (``symbol == 'A' and price > 3``). A lookup by the event's values replaces the evaluation of each filter.
#
#   part      an attribute whose value is looked up; each value that a filter needs (or null) has a bucket
#   bucket    the receivers filed under one value; one bucket (`root`) has those filed under an interval alone
#   filed     a receiver in a bucket, and the interval in which another attribute must lie
#   view      an attribute as intervals compare it: a 64-bit integer in the order of the numbers
#   run       the filed receivers of a bucket with intervals on one view, as an implicit interval tree: sorted by `low`;
#             the middle of a range has in `most` the greatest `high` of the range
#
# A receiver that is not filed gets every event, and so does one that is awake (see Sleeper).

from libc.stdint cimport int32_t, int64_t, uint64_t

from siddhi._core.record.event cimport EventC, Layout
from siddhi._core.runtime.operator cimport Wakes

cdef struct FiledC:
    int64_t low
    int64_t high
    int64_t most
    int32_t receiver

cdef struct FiledRunC:
    FiledC* filed
    int32_t n
    int32_t view

cdef struct FiledBucketC:
    int32_t* plain                       # receivers filed under the value alone, ascending
    FiledRunC* runs
    int32_t n_plain
    int32_t n_runs

cdef struct FiledViewC:
    int32_t cell
    int32_t word
    uint64_t bit
    int32_t code                         # type of the attribute
    bint as_double

cdef struct FiledPartC:
    void* values                         # KeyMap: value -> index of its bucket, from `first`; NULL: only null is looked up
    FiledBucketC* buckets
    FiledBucketC* nulls                       # or NULL
    int32_t cell
    int32_t word
    uint64_t bit

cdef struct PickedC:                     # a block of events, distributed to receivers
    int32_t* receivers                   # ascending
    Py_ssize_t* starts                   # receiver i gets events[starts[i]:starts[i + 1]]
    EventC** events
    int32_t n

cdef struct IndexC:
    FiledPartC* parts
    FiledViewC* views
    FiledBucketC* buckets
    FiledBucketC* root                        # or NULL
    FiledRunC* runs
    FiledC* filed
    int32_t* plain
    int32_t* always                      # receivers that are not filed, ascending
    Py_ssize_t n_parts, n_buckets, n_runs, n_filed, n_plain, n_always
    # Set of receivers, by words of 64: level 0 has a bit per receiver, each other level one per word below.
    uint64_t* levels[4]
    uint64_t* awake[4]                   # set of the receivers that are awake
    uint64_t* sleepers                   # bit set of the receivers that may sleep
    int n_levels
    int32_t* counts                      # [receivers] zero but during pick(); NULL before the first

cdef class Dispatch(Wakes):
    cdef readonly int n_receivers
    cdef readonly int n_filed            # number of receivers that are filed
    cdef readonly tuple positions        # the attributes that events are routed by
    cdef int32_t n_sleepers, n_awake
    cdef list maps                       # owns the KeyMaps of the parts
    cdef IndexC* c
    # Receivers found, of the event being delivered and of those whose deliveries led to it.
    cdef int32_t* found
    cdef Py_ssize_t top, capacity
    cdef int build(self, Layout layout, list filings) except -1
    cdef int follow(self, list sleepers) except -1
    cdef bint may_sleep(self, int receiver) noexcept
    cdef Py_ssize_t write_awake(self, int level, Py_ssize_t word, int32_t* out) noexcept
    cdef Py_ssize_t find_unordered(self, const EventC* event, int32_t* out) except -1
    cdef int build_buckets(self, Layout layout, dict parts, dict roots) except -1
    cdef int move_last(self, FiledPartC* part, Py_ssize_t at, Py_ssize_t last) except -1
    cdef int reserve(self) except -1
    cdef int32_t* scan(self, const FiledBucketC* bucket, const EventC* event, int32_t* out) noexcept
    cdef Py_ssize_t find_filed(self, const EventC* event, int32_t* out) except -1
    cdef Py_ssize_t with_always(self, Py_ssize_t n) noexcept
    cdef Py_ssize_t find(self, const EventC* event) except -1
    cdef Py_ssize_t find_any(self, const EventC* event) except -1
    cdef Py_ssize_t ordered(self, int32_t* found, Py_ssize_t n) noexcept
    cdef void mark(self, int32_t receiver) noexcept
    cdef Py_ssize_t take_marked(self, int level, Py_ssize_t word, int32_t* out) noexcept
    cdef Py_ssize_t block_limit(self) noexcept
    cdef int pick(self, EventC** events, Py_ssize_t n, PickedC* picked) except -1
