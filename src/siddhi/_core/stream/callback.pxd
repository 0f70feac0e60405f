# Receivers that call Python. See callback.pyx.

from siddhi._core.columnar.batch cimport BatchBuilder
from siddhi._core.record.event cimport EventC
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
