# Which of the rows found are one: in a table with indexes and no key, rows of one time and of equal values. Each is kept,
# since a later change may tell them apart, but a search shows one of them, the first.
#
# A row that was changed since it came in counts by itself for changes: of rows that came in equal, the second was never
# there; of rows that have become equal, a change is made to one and leaves the others as they are.

from libc.stdint cimport uint32_t

from siddhi._core.expression.executor cimport Executor
from siddhi._core.record.event cimport EventC, Layout
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.lookup cimport Searchable
from siddhi._core.runtime.metrics cimport OperationMeter
from siddhi._core.table.access cimport Access, KeyAccess, NumbersC, ValueAccess
from siddhi._core.table.index cimport ChainC
from siddhi._core.table.table cimport Table

cdef bint rows_equal(Layout layout, const EventC* a, const EventC* b) except -1
# The numbers of distinct rows first, in their order, then those of the others; the number of distinct ones. `merge`:
# rows that came in equal to another are deleted, and `n` is made less by them.
cdef Py_ssize_t part_distinct(Table table, uint32_t* at, Py_ssize_t* n, bint merge) except -1

# --- A condition over a table, compiled for one place: what finds candidates, and what is left to test on each of them.
cpdef enum Binding:                    # where the rest of the condition reads the row
    AS_EVENT = 0                       # it is the current event (table outputs, on-demand queries)
    IN_FRAME = 1                       # FrameC.row; the current event is the query's (in)
    IN_SLOT = 2                        # an event slot (joins)

cdef enum:
    PREFETCH_MIN_SIZE = 8192              # rows of fewer stay in the caches by themselves

cdef class TableSearch:
    cdef readonly Table table
    cdef readonly Access access        # None: every row is a candidate
    cdef KeyAccess key                 # the access, where it is by primary key
    cdef ValueAccess value             # the access, where it is by the value of an index
    cdef Executor row_free                 # what does not read the row; None: nothing
    cdef Executor residual                 # what is tested on each candidate; None: nothing
    cdef Executor whole                # what is tested on each row, where every row is a candidate
    cdef int binding
    cdef int slot
    cdef public OperationMeter meter   # of `in`; None: nobody measures
    cdef NumbersC found                # the buffer of searches that are not at work
    cdef bint matches(self, Executor test, EventC* row, EventC* e, FrameC* f) except -1
    # The row that is filed under the key, with `key` only; NO_ROW: there is none. Changes go by it.
    cdef uint32_t find_one(self, EventC* e, FrameC* f) except? 0xfffffffe
    cdef int find(self, EventC* e, FrameC* f, NumbersC* out) except -1      # in order of insertion
    cdef inline bint is_by_key(self) noexcept:
        # Where rows are filed under another key than their own, all are looked at: a search goes by values.
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
    cdef EventC* null_event                # the current event where there is none: no cells and no timestamp; of no pool
