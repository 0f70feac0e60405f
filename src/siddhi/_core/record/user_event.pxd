# What users hold: an Event is a handle on a pooled record; its values become Python objects when they are asked for.

from libc.stdint cimport int64_t

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool, Layout

cdef class Event:
    cdef readonly int64_t timestamp
    cdef readonly bint is_expired
    cdef EventC* record                 # retained, or NULL once the values are in `values`
    cdef EventPool pool
    cdef Layout layout                  # of the stream or query: the names
    cdef tuple values
    cdef tuple load(self)

cdef int64_t read_timestamp(timestamp) except? -1
cdef Event make_event(EventC* record, EventPool pool, Layout layout)
cdef list make_events(EventChunk* chunk, EventPool pool, Layout layout)

# --- Rows of Python values as records.
# A record of a row, timestamp -1; the caller's. ValueError: the row does not fit the layout.
cdef EventC* record_of(row, EventPool pool, Layout layout) except NULL

# The values of a row in attribute order, by name where the row has names. EventError: it does not fit the names.
cpdef tuple row_values(row, tuple names)
