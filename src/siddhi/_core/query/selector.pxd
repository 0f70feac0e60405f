# Selector: evaluates the select clause for every CURRENT and EXPIRED event and keeps, chunk by chunk, the output of the
# query: each event, the last one, or the last one per group.
#
# Output records come from the pool of the target, so that a stream receives them without a copy. Plain attributes are
# copied cell by cell; other columns are typed closures that write into the output cell.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from siddhi._core.aggregate.aggregator cimport AggregatorStates
from siddhi._core.aggregate.group cimport GroupBy
from siddhi._core.expression.executor cimport ExecC, Executor, eval_fn
from siddhi._core.query.column cimport ColumnC
from siddhi._core.query.output cimport QueryOutput
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.runtime.operator cimport Processor

cdef enum SelectMode:
    EACH = 0
    LAST = 1
    LAST_PER_GROUP = 2

cdef class Selector(Processor):
    cdef readonly EventPool pool
    cdef ColumnC* columns
    cdef int n_columns
    cdef tuple executors                 # owns the columns' executors
    cdef AggregatorStates states         # of the aggregators without group by
    cdef bint has_aggregates
    cdef bint wants_current
    cdef bint wants_expired
    cdef Executor having
    cdef readonly GroupBy groups
    cdef int mode
    cdef object ordering                 # ChunkOrder or None
    cdef Py_ssize_t limit                # -1: none
    cdef Py_ssize_t offset
    cdef EventChunk out
    # Late selection: while a batch window holds the events until finish(), only aggregators see them one by one, and
    # only the last event of each group is selected. `last` and `last_of_group` then point at these input events.
    cdef bint late
    cdef bint by_column                  # columns are independent: rows may be selected column by column
    cdef EventC* last                    # mode LAST
    cdef EventC** last_of_group          # mode LAST_PER_GROUP, by group id
    cdef Py_ssize_t group_capacity
    cdef uint32_t* order                 # group ids by first kept appearance in the chunk
    cdef Py_ssize_t n_order
    cdef int64_t last_timestamp          # of the last event of the chunk, including RESET
    cdef readonly QueryOutput output
    cdef bint waits_for(self, uint32_t slot) noexcept      # a row of the current chunk will be emitted for a group
    cdef uint32_t enter(self, EventC* event) except? 0xfffffffe
    cdef EventC* aggregate_event(self, EventC* event, uint32_t* group_id) except? NULL
    cdef EventC* select(self, EventC* event) except? NULL
    cdef int update(self, EventC* event) except -1
    cdef int keep(self, EventC* out, uint32_t group_id) except -1
    cdef int keep_late(self, EventC* event, uint32_t group_id) except -1
    cdef int select_late(self) except -1
    cdef int grow(self, uint32_t group_id) except -1
    cdef bint selects_by_column(self) noexcept
    cdef int arrange(self, EventChunk* chunk) except -1
