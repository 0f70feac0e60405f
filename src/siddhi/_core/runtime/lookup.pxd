# What joins and on-demand queries look events up in: the content of a window, a table.
#
# A Searchable is made for one place: it knows its condition, and answers with the events (or rows) for which that
# holds. Before find() the caller points FrameC.slots at an array, puts the events the condition reads besides the
# searched ones into their slots, and sets FrameC.partition. While it looks, find() may write into its own slot of that
# array, no other.

from siddhi._core.record.event cimport EventC, EventPool, release, retain
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.metrics cimport OperationMeter

cdef struct FoundC:                # what a search found; the caller's, used again from search to search
    EventC** events                # [capacity], in the order they are stored
    Py_ssize_t size
    Py_ssize_t capacity

cdef class Searchable:
    cdef readonly int slot         # where the condition reads the searched event
    cdef readonly EventPool pool   # of what it finds; None: it never finds anything
    cdef public OperationMeter meter    # None: nobody measures
    # Adds what matches, in order, also where it fails. The caller owns what is in `found` (found_release): whoever works
    # on it may call Python, which may send, and let the content go.
    cdef int find(self, FrameC* frame, FoundC* found) except -1
    # Events that will be looked up next, in the slot `own`: what that takes may be asked for in advance. Slots as find().
    cdef int prefetch(self, FrameC* frame, EventC** events, Py_ssize_t n, int own) except -1

cdef int measured_find(Searchable searchable, FrameC* frame, FoundC* found) except -1

cdef inline int look_up(Searchable searchable, FrameC* frame, FoundC* found) except -1:
    """Call find(), measured while metrics are on."""
    if searchable.meter is not None and searchable.meter.on:
        return measured_find(searchable, frame, found)
    return searchable.find(frame, found)

cdef int found_grow(FoundC* found) except -1
cdef void found_free(FoundC* found) noexcept

cdef inline void found_release(FoundC* found, EventPool pool) noexcept:
    """Release the result of find()."""
    while found.size:
        found.size -= 1
        release(pool, found.events[found.size])

cdef inline int found_keep(FoundC* found, EventPool pool, EventC* event) except -1:
    """Add an event for the caller to own."""
    found_add(found, event)
    retain(pool, event)
    return 0

cdef inline int found_add(FoundC* found, EventC* event) except -1:
    """Add an event that stays somebody else's."""
    if found.size == found.capacity:
        found_grow(found)
    found.events[found.size] = event
    found.size += 1
    return 0
