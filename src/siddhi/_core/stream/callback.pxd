# Receivers that call Python. See callback.pyx.

from libc.stdint cimport int64_t

from siddhi._core.columnar.batch cimport BatchBuilder
from siddhi._core.record.event cimport EventC, Layout
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport Receiver

cdef class BatchCallback(Receiver):
    cdef AppContext app
    cdef readonly BatchBuilder builder
    cdef readonly object function
    cdef readonly str stream
    cdef bint waiting                    # registered for the end of the batch
    cdef bint chunked                    # chunks of several events must be kept together
    cdef int collect(self, EventC* event) except -1
    cdef int await_flush(self) except -1
    cpdef int flush(self) except -1

cdef struct ChunkSpanC:                   # a chunk of several events; all other rows are chunks of one
    Py_ssize_t row
    Py_ssize_t size

cdef extern from "<stdint.h>":
    const int64_t NO_END "INT64_MIN"      # of a lifetime: not known

cdef class Collector(BatchCallback):
    cdef Layout layout
    cdef readonly str timestamp
    cdef readonly str chunk
    cdef readonly str end
    cdef int64_t chunks              # number of chunks drained so far
    cdef ChunkSpanC* spans
    cdef Py_ssize_t n_spans
    cdef Py_ssize_t span_capacity
    cdef int64_t* ends               # by row, of temporal streams
    cdef Py_ssize_t end_capacity
    cdef int begin_span(self) except -1
    # Append a row that is valid from `start` on; `several`: it belongs to the chunk of the last begin_span().
    cdef int append_lifetime(self, EventC* row, int64_t start, int64_t end, bint several) except -1
    cdef int number(self, int64_t* numbers, Py_ssize_t n) except -1
