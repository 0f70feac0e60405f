"""Searchable sources: base class and result buffer."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int64_t

cdef int found_grow(FoundC* found) except -1:
    cdef Py_ssize_t capacity = max(16, 2 * found.capacity)
    cdef EventC** events = <EventC**> PyMem_Realloc(found.events, capacity * sizeof(EventC*))
    if events is NULL:
        raise MemoryError
    found.events = events
    found.capacity = capacity
    return 0


cdef void found_free(FoundC* found) noexcept:
    """Free the buffer; the events in it are not released."""
    PyMem_Free(found.events)
    found.events = NULL
    found.size = 0
    found.capacity = 0


cdef int measured_find(Searchable searchable, FrameC* frame, FoundC* found) except -1:
    cdef int64_t start = searchable.meter.begin()
    try:
        return searchable.find(frame, found)
    finally:
        searchable.meter.end(start, 1)


cdef class Searchable:
    """Base class of sources that are searched by a fixed condition."""

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        raise TypeError(f"{type(self).__name__} cannot be searched")

    cdef int prefetch(self, FrameC* frame, EventC** events, Py_ssize_t n, int own) except -1:
        return 0


@cython.final
cdef class EmptySearchable(Searchable):
    """A stream without a window, which holds no events."""

    def __init__(self, int slot):
        self.slot = slot

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        return 0
