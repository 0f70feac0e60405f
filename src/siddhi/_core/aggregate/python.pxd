# Aggregators written in Python.

from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t

from siddhi._core.aggregate.aggregator cimport Aggregator
from siddhi._core.record.event cimport EventC
from siddhi._core.record.frame cimport FrameC

cdef struct PythonC:
    PyObject* object               # of the user's class, owned; NULL: the group id has not been created
    int64_t count                  # number of events added and not removed

cdef class PythonAggregator(Aggregator):
    cdef object factory
    cdef str name
    cdef object result             # last value: keeps what `out` refers to alive until the next one
    cdef readonly bint recomputed  # a temporal window adds all of its rows for each result, and removes none
    cdef void discard(self, PythonC* state) noexcept
    cdef object failed(self, str method, object error)
    cdef object instance(self, uint32_t group_id)
    cdef tuple read_arguments(self, EventC* e, FrameC* f)
    cdef int add_or_remove(self, EventC* e, FrameC* f) except -1
    cdef object value_of(self, uint32_t group_id)
    # Fill a new object with (start, arguments) of rows, in order of start, then of the arguments.
    cdef int add_all(self, uint32_t group_id, list rows) except -1
