# Output rows of temporal queries, and the outputs that belong to the lifetimes of an input.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.expression.executor cimport Executor
from siddhi._core.query.column cimport ColumnC
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.temporal.lifetime cimport LifetimeC, LifetimePool

cdef enum:
    LEFT_SLOT = 0
    RIGHT_SLOT = 1
    LIFETIME_SLOT = 2              # a record of the start, the end and the rank

cdef class RowMaker:
    cdef FrameC* frame
    cdef readonly EventPool pool   # of the rows made; None: no rows are made
    cdef tuple executors
    cdef ColumnC* columns
    cdef int n_columns
    cdef Executor having
    cdef EventPool times           # of the record of the lifetime slot
    cdef EventC* lifetime
    cdef EventC* slots[3]
    # Show expressions a row (two in joins), a lifetime and a rank.
    cdef int look_at(self, EventC* left, EventC* right, int64_t start, int64_t end, int64_t rank) except -1
    # Return a new row, owned; NULL: `having` rejects it. look_at() comes first.
    cdef EventC* make(self, EventC* row) except? NULL

cdef class OutputMap:
    # One lifetime by the index of another one.
    cdef LifetimePool lifetimes
    cdef LifetimeC** out
    cdef uint32_t capacity

cdef int map_set(OutputMap map, uint32_t index, LifetimeC* out) except -1      # retains it

cdef inline LifetimeC* map_find(OutputMap map, uint32_t index) noexcept:
    return map.out[index] if index < map.capacity else NULL

cdef void map_drop(OutputMap map, uint32_t index) noexcept

cdef int map_write(OutputMap map, SnapshotWriter writer) except -1
cdef int map_read(OutputMap map, SnapshotReader reader, EventPool rows) except -1     # into an empty map
cdef void map_clear(OutputMap map) noexcept
