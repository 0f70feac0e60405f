# Selection without memory: no aggregates, no having, no order or limit. Each current event becomes one output event; a
# selection that changes nothing passes the stream's own record on.

from libc.stdint cimport int64_t

from siddhi._core.query.column cimport ColumnC
from siddhi._core.query.output cimport QueryOutput
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.stream.callback cimport BatchCallback

cdef class Projection(Processor):
    cdef readonly EventPool pool
    cdef readonly QueryOutput output
    cdef ColumnC* columns
    cdef int n_columns
    cdef tuple executors
    cdef FrameC* frame
    cdef bint forwards             # select * into a stream of the same types
    cdef readonly QueryOutput forward      # the output, where it forwards; else None
    cdef readonly QueryOutput inserts      # the output, where it may refuse rows; else None
    cdef EventChunk out
    cdef bint copies               # of plain attributes, nothing is computed
    cdef bint prefix               # the first attributes in their order: cells and their null bits stay where they are
    cdef bint pure                 # closures without side effects: rows may be evaluated column by column
    cdef bint at_once              # no row of a chunk can fail: each may go to a batch callback before the chunk has ended
    cdef EventC* project(self, EventC* event) except NULL
    cdef int lend_block(self, EventC** events, Py_ssize_t n) except -1
    cdef int collect_block(self, EventC** events, Py_ssize_t n, BatchCallback sink) except -1
