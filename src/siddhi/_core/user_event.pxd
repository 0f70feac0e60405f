# What users hold: an Event is a handle on a pooled record; its values become Python objects when they are asked for.

from libc.stdint cimport int64_t

from siddhi._core.chunk cimport EventChunk
from siddhi._core.event cimport EventC, EventPool

cdef class Event:
    cdef readonly int64_t timestamp
    cdef readonly bint is_expired
    cdef EventC* record                 # retained, or NULL once the values are in `values`
    cdef EventPool pool
    cdef tuple values
    cdef tuple names
    cdef tuple load(self)

cdef Event make_event(EventC* record, EventPool pool)
cdef list make_events(EventChunk* chunk, EventPool pool)
