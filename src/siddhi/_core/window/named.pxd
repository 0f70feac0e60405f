# Output of a named window: passes the events that leave the window to its readers, chunk by chunk.

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventPool
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.stream.junction cimport StreamJunction
from siddhi._core.window.lookup cimport NumberedEvents

cdef class WindowPublisher(Processor):
    cdef StreamJunction output             # readers and callbacks of the window subscribe here
    cdef EventPool pool                    # of the window's records
    cdef readonly NumberedEvents numbered  # the window's events with indexes, or None
    cdef bint current                      # event types that are published
    cdef bint expired
    cdef EventChunk out
