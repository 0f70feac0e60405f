# Fused window aggregate: a batch window and its selection in one operator, for sums, averages and counts.
#
# Events are accumulated as they arrive. Of a group only its output record is kept, which shows the group's last event.
# This replaces a LengthBatchWindow or TimeBatchWindow and a Selector that process the whole batch at its end.
# planner/rules/fuse_window_aggregate.py decides where.

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
    GroupListC groups              # groups of the batch being collected
    GroupListC before              # groups of the previous batch: those that do not recur are dropped
    int64_t size                   # number of events of the batch
    int64_t boundary               # timeBatch: end of the period, ms
    bint started                   # timeBatch: `boundary` is set
    bint armed                     # timeBatch: a timer is pending; never while the batch is empty
    bint live                      # the partition id is in use

cdef class TumblingAggregate(Selector):
    cdef Accumulators accumulators
    cdef TumbleC* batches          # [capacity] by partition id
    cdef unsigned int capacity
    cdef EventC** rows             # [row_capacity] output record by group id; NULL: not in the batch
    cdef Py_ssize_t row_capacity
    cdef bint timed
    cdef int64_t extent            # number of events, or ms
    cdef int64_t start
    cdef bint aligned
    cdef int* accumulator_of  # [n_columns] accumulator of a column, -1: a plain attribute, KEY: an attribute of the key
    cdef int* shown           # [n_shown] columns of plain attributes that differ within a group
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
