# The end of a named window: what leaves the window goes to its readers, chunk by chunk, with its type.

from siddhi._core.chunk cimport EventChunk
from siddhi._core.event cimport EventPool
from siddhi._core.junction cimport StreamJunction
from siddhi._core.processor cimport Processor
from siddhi._core.searchable_index cimport HeldEvents

cdef class WindowPublisher(Processor):
    cdef StreamJunction output     # where readers and callbacks of the window are subscribed
    cdef EventPool pool            # of the window's records
    cdef readonly HeldEvents held  # the window's events for indexes, or None
    cdef bint current              # which events are published
    cdef bint expired
    cdef EventChunk out
