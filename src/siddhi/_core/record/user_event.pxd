# Event, the form in which users get events: a handle on a pooled record. Its values become Python objects at first access.

from libc.stdint cimport int64_t

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool, Layout

cdef class Event:
    cdef readonly int64_t timestamp
    cdef readonly bint is_expired
    cdef bint has_end                   # `end_time` is set: only events that come out of temporal streams have one
    cdef EventC* record                 # retained, or NULL once the values are in `values`
    cdef EventPool pool
    cdef Layout layout                  # of the stream or query; gives the attribute names
    cdef tuple values
    cdef int64_t end_time
    cdef tuple load(self)

cdef int64_t read_timestamp(timestamp) except? -1
cdef Event make_event(EventC* record, EventPool pool, Layout layout)
cdef list make_events(EventChunk* chunk, EventPool pool, Layout layout)
cdef int replace_values(EventChunk* chunk, list rows, EventPool pool, Layout layout, EventChunk* replaced) except -1

# --- Rows of Python values as records.
# Return a record of a row, with timestamp -1; the caller owns it. ValueError: the row does not fit the layout.
cdef EventC* record_of(row, EventPool pool, Layout layout) except NULL

# Return the values of a row in attribute order, by name if the row has names. EventError: it does not fit the names.
cpdef tuple row_values(row, tuple names)
