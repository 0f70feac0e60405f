# Sources that joins and on-demand queries search: a window, a table.
#
# A Searchable is made for one use: it has a condition and finds the events (or rows) that meet it. Before find() the
# caller must point FrameC.slots at an array, store the other events that the condition reads in their slots, and set
# FrameC.partition. find() may write only to its own slot of that array.

from siddhi._core.record.event cimport EventC, EventPool, release, retain
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.context cimport OperationMeter

cdef struct FoundC:                # result of a search; owned by the caller and reused
    EventC** events                # [capacity], in the order they are stored
    Py_ssize_t size
    Py_ssize_t capacity

cdef class Searchable:
    cdef readonly int slot              # slot in which the condition reads the searched event
    cdef readonly EventPool pool        # of the events found; None: it never finds any
    cdef public OperationMeter meter    # None: not measured
    # Append the matches, in order, also before a failure. The caller owns the references in `found` (found_release):
    # code that processes them may call Python, which may send and release the source's events.
    cdef int find(self, FrameC* frame, FoundC* found) except -1
    # Prefetch what the lookups of the next events, in the slot `own`, will need. Slots as for find().
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
    """Release the events of a search."""
    while found.size:
        found.size -= 1
        release(pool, found.events[found.size])

cdef inline int found_keep(FoundC* found, EventPool pool, EventC* event) except -1:
    """Append an event and retain it."""
    found_add(found, event)
    retain(pool, event)
    return 0

cdef inline int found_add(FoundC* found, EventC* event) except -1:
    """Append an event without retaining it."""
    if found.size == found.capacity:
        found_grow(found)
    found.events[found.size] = event
    found.size += 1
    return 0
