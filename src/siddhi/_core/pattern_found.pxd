# The matches that an event, a chunk or a timer has completed, until they go to the selection.

from siddhi._core.event cimport EventC, EventPool
from siddhi._core.executor cimport FrameC
from siddhi._core.pattern_match cimport EntryC, Matches, PartialC
from siddhi._core.pattern_view cimport PatternView
from siddhi._core.processor cimport Processor

cdef class Found:
    cdef Matches matches
    cdef PatternView view          # what the selection sees
    cdef Processor next            # the selection
    cdef FrameC* frame             # the app's
    cdef EventPool moments
    cdef EventC* moment            # the event the selection is given: the time of the match
    cdef PartialC** items          # NULL ends a chunk
    cdef Py_ssize_t size
    cdef Py_ssize_t capacity
    cdef bint apart                # every match is a chunk of its own
    cdef int add(self, PartialC* partial) except -1
    cdef int push(self, PartialC* partial) except -1
    cdef int deliver(self) except -1
    cdef int put_out(self, PartialC* partial, bint alone) except -1
    cdef void cut(self, Py_ssize_t size) noexcept
    cdef void clear(self) noexcept

cdef inline bint goes_on(const PartialC* partial) noexcept:
    """Whether a count before may yet change a match that is complete."""
    cdef EntryC* entry = partial.entries
    while entry is not NULL:
        if not entry.broken:
            return True
        entry = entry.sibling
    return False
