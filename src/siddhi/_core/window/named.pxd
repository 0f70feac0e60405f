# The end of a named window: what leaves the window goes to its readers, chunk by chunk, with its type.

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventPool
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.stream.junction cimport StreamJunction
from siddhi._core.window.lookup cimport NumberedEvents

cdef class WindowPublisher(Processor):
    cdef StreamJunction output     # where readers and callbacks of the window are subscribed
    cdef EventPool pool            # of the window's records
    cdef readonly NumberedEvents numbered  # the window's events for indexes, or None
    cdef bint current              # which events are published
    cdef bint expired
    cdef EventChunk out
