# Equal rows of a table that is a set (indexes, no key): rows with equal time and values. All are kept, since a later
# change may make them differ, but a search returns only the first.
#
# A row changed since its insertion counts by itself for changes. Of rows inserted equal, the second is treated as never
# inserted. Of rows that became equal, a change affects one and leaves the others.

from libc.stdint cimport uint32_t

from siddhi._core.expression.executor cimport Executor
from siddhi._core.record.event cimport EventC, Layout
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.lookup cimport Searchable
from siddhi._core.runtime.context cimport OperationMeter
from siddhi._core.table.access cimport Access, KeyAccess, NumbersC, ValueAccess
from siddhi._core.table.index cimport ChainC
from siddhi._core.table.table cimport Table

cdef bint rows_equal(Layout layout, const EventC* a, const EventC* b) except -1
# Partition row numbers: distinct rows first, in order, then the others. Return the number of distinct ones. `merge`:
# delete rows that were inserted equal to another, and reduce `n` accordingly.
cdef Py_ssize_t part_distinct(Table table, uint32_t* at, Py_ssize_t* n, bint merge) except -1

# --- A condition over a table, compiled for one use: an access that finds candidates, and predicates to test on them.
cpdef enum Binding:                    # where predicates read the row
    AS_EVENT = 0                       # the current event (table outputs, on-demand queries)
    IN_FRAME = 1                       # FrameC.row; the current event is that of the query (`in`)
    IN_SLOT = 2                        # an event slot (joins)

cdef enum:
    PREFETCH_MIN_SIZE = 8192              # minimum number of rows for prefetching; fewer stay in the caches

cdef class TableSearch:
    cdef readonly Table table
    cdef readonly Access access        # None: every row is a candidate
    cdef KeyAccess key                 # `access` if it is by primary key
    cdef ValueAccess value             # `access` if it is by the value of an index
    cdef Executor row_free             # row-free predicate, tested once; None: none
    cdef Executor residual             # residual predicate, tested on each candidate; None: none
    cdef Executor whole                # full condition, tested on each row of a scan
    cdef int binding
    cdef int slot
    cdef public OperationMeter meter   # of `in`; None: not measured
    cdef NumbersC found                # buffer for row numbers; taken by the running search
    cdef bint matches(self, Executor test, EventC* row, EventC* e, FrameC* f) except -1
    # Return the row filed under the key, or NO_ROW; only with `key`. Changes go by it.
    cdef uint32_t find_one(self, EventC* e, FrameC* f) except? 0xfffffffe
    cdef int find(self, EventC* e, FrameC* f, NumbersC* out) except -1      # in order of insertion
    cdef inline bint is_by_key(self) noexcept:
        # Rows filed under another key than their own force a scan: a search goes by values.
        return self.key is not None and self.table.n_misfiled == 0
    cdef bint contains(self, EventC* e, FrameC* f) except -1
    cdef bint chain_contains(self, const ChainC* chain, EventC* e, FrameC* f) except -1
    cdef NumbersC acquire_buffer(self) noexcept
    cdef void release_buffer(self, NumbersC numbers) noexcept
    cdef bint narrow(self, NumbersC* out, EventC* e, FrameC* f, Py_ssize_t limit) except -1
    cdef int scan(self, NumbersC* out, EventC* e, FrameC* f) except -1
    cdef void arrange(self, NumbersC* out) noexcept

cdef class TableSearchable(Searchable):
    cdef readonly TableSearch search
    cdef EventC* null_event                # stands in for the current event; no cells, no timestamp, no pool
