# Copies of records within their pool, for those who change an event that somebody else may still hold.

from cpython.object cimport PyObject
from cpython.ref cimport Py_XINCREF
from libc.string cimport memcpy

from siddhi._core.event cimport EventC, EventPool, acquire, release

cdef inline EventC* copy_event(EventPool pool, const EventC* event) except NULL:
    """A record with the same type, timestamp and cells; the caller owns it. What a selector remembered stays behind."""
    cdef EventC* copy = acquire(pool)
    cdef int i
    copy.type = event.type
    copy.timestamp = event.timestamp
    memcpy(copy.body, event.body, 8 * (pool.layout.words + pool.layout.width))
    for i in range(pool.layout.n_objects):
        Py_XINCREF(<PyObject*> copy.body[pool.layout.objects[i]])
    return copy

cdef inline EventC* own_event(EventPool pool, EventC* event) except NULL:
    """The event as one that only the caller holds, for his reference to it: itself, or a copy."""
    cdef EventC* copy
    if event.refs == 1:
        return event
    copy = copy_event(pool, event)
    release(pool, event)
    return copy
