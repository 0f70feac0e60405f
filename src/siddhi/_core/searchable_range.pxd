# Searching the events a window holds by a range of one of their numbers.

from libc.stdint cimport uint64_t

from siddhi._core.event cimport EventC
from siddhi._core.executor cimport Executor, FrameC
from siddhi._core.searchable cimport FoundC, Searchable
from siddhi._core.searchable_index cimport EventIndex, HeldEvents
from siddhi._core.sorted_range cimport SortedRange

cdef struct ArrivalC:
    uint64_t sequence
    EventC* event

cdef class RangeProbe(Searchable):
    cdef HeldEvents held
    cdef EventIndex index
    cdef SortedRange range
    cdef Searchable scan           # where the range is not worth it
    cdef Executor condition
    cdef bint calls_python         # it does
    cdef ArrivalC* arrivals        # [capacity]
    cdef Py_ssize_t n
    cdef Py_ssize_t capacity
    cdef bint collect(self, uint64_t low, uint64_t high, Py_ssize_t limit) except -1
