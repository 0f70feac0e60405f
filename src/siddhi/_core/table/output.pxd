# Output of queries to tables: insert, delete, update, update or insert. The events of a chunk act one after another.
#
# FrameC.output is the acting event. Conditions read the row as the current event (TableSearch with binding AS_EVENT).
# Assignments read the output event as the current event and the row from FrameC.row; each sees the results of those
# before it.

from libc.stdint cimport int32_t, uint32_t, uint64_t

from siddhi._core.expression.executor cimport ExecC
from siddhi._core.query.output cimport QueryOutput
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC
from siddhi._core.table.search cimport TableSearch
from siddhi._core.table.table cimport Table

cdef struct SetC:
    const ExecC* x
    int32_t cell
    int32_t word
    uint64_t bit
    bint is_copy                       # copies a number or bool of the output event
    bint is_object
    bint is_bool

cdef class Assignments:
    cdef readonly Table table
    cdef tuple executors
    cdef SetC* sets
    cdef int n
    cdef uint64_t touched              # bit mask of the positions (all ones for more than 64)
    cdef bint in_place                 # cannot fail half way: rows may be changed in place
    cdef int assign(self, EventC* event, EventC* row) except -1
    cdef int update(self, EventC* event, const uint32_t* found, Py_ssize_t n) except -1
    # For a table that is a set. Removes rows that are not updated from `found`, and may delete them.
    cdef int update_distinct(self, EventC* event, uint32_t* found, Py_ssize_t n) except -1
    cdef EventC** assigned(self, EventC* event, const uint32_t* found, Py_ssize_t n) except NULL    # copies; PyMem_Free

cdef class TableSink(QueryOutput):
    cdef readonly Table table
    cdef int act_one(self, EventC* event) except -1

cdef class TableInsert(TableSink):
    pass

cdef class TableDelete(TableSink):
    cdef readonly TableSearch search

cdef class TableUpdate(TableSink):
    cdef readonly TableSearch search
    cdef Assignments assignments

cdef class TableUpdateOrInsert(TableSink):
    cdef readonly TableSearch search
    cdef Assignments assignments
    cdef bint overwrites                       # a row found by primary key is replaced by the output event
    cdef uint64_t cut                          # rows with this or a higher sequence were inserted by the current chunk
    cdef readonly TableUpdateOrInsert pending  # None: rows to insert cannot conflict with rows that are updated
    cdef bint gathering                        # events without a matching row go to `pending`
    cdef int act_separately(self, EventChunk* chunk) except -1
    cdef int add_or_defer(self, EventC* event) except -1      # inserts now or at the end of the chunk
    cdef int add_pending(self) except -1
