# A batch window and the selection over it in one step, for sums, averages and counts: events are added up as they come,
# and all that is kept of a group is its output record, which always shows the group's last event. What LengthBatchWindow
# or TimeBatchWindow and a Selector would do with the whole batch at its end; see
# planner/rules/fuse_window_aggregate.py for where.

from libc.stdint cimport int32_t, int64_t, uint32_t

from siddhi._core.aggregate.accumulator cimport Accumulators
from siddhi._core.query.selector cimport Selector
from siddhi._core.record.event cimport EventC

cdef enum:
    KEY = -2

cdef struct GroupListC:                # groups in order of appearance
    uint32_t* group_ids
    Py_ssize_t n
    Py_ssize_t capacity

cdef struct TumbleC:
    GroupListC groups                  # of the batch being collected
    GroupListC before                  # of the batch before: those that do not come again are dropped
    int64_t size                   # events of the batch
    int64_t boundary               # timeBatch: end of the period, ms
    bint started                   # timeBatch: the boundary is set
    bint armed                     # timeBatch: a timer is on its way; none is while the batch is empty
    bint live                      # the partition id is in use

cdef class TumblingAggregate(Selector):
    cdef Accumulators accumulators
    cdef TumbleC* batches          # [capacity] by partition id
    cdef unsigned int capacity
    cdef EventC** rows             # [row_capacity] by group id: its output so far; NULL: not in the batch
    cdef Py_ssize_t row_capacity
    cdef bint timed
    cdef int64_t extent            # events, or ms
    cdef int64_t start
    cdef bint aligned
    cdef int* accumulator_of       # [n_columns] the accumulator of a column, -1: a plain attribute, KEY: that of the group
    cdef int* shown                # [n_shown] columns of plain attributes that differ within a group
    cdef int n_shown
    cdef EventC* open_row(self, TumbleC* batch, uint32_t group_id) except NULL
    cdef bint in_blocks            # in playback blocks may come: they end at timers, so there always is one
    cdef int start_clock(self, TumbleC* batch) except -1
    cdef int take_block(self, EventC** events, Py_ssize_t n, TumbleC* batch) except -1
    cdef int show_last(self, EventC* event, uint32_t group_id, TumbleC* batch) except -1
    cdef int take(self, EventC* event, TumbleC* batch) except -1
    cdef int emit_batch(self, TumbleC* batch) except -1
    cdef int drop_rows(self, TumbleC* batch) noexcept
    cdef int forget(self, TumbleC* batch) except -1
