# Stateless selection: no aggregates, no having, no order or limit. Each current event makes one output event. A
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
    cdef bint forwards                     # select * into a stream of the same types
    cdef readonly QueryOutput forward      # the output if it forwards; else None
    cdef readonly QueryOutput inserts      # the output if it may refuse rows; else None
    cdef EventChunk out
    cdef bint copies               # plain attributes only, nothing is computed
    cdef bint prefix               # the first attributes in order: cells and null bits stay in place
    cdef bint pure                 # no side effects: rows may be evaluated column by column
    cdef bint at_once              # no row can fail: each may go to a batch callback before its chunk has ended
    cdef EventC* project(self, EventC* event) except NULL
    cdef int send_borrowed(self, EventC** events, Py_ssize_t n) except -1
    cdef int collect_block(self, EventC** events, Py_ssize_t n, BatchCallback sink) except -1
