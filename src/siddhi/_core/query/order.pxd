# Order by over one chunk: a stable sort within runs of equal event type, nulls last in both directions.

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC
from siddhi._core.runtime.context cimport AppContext

cdef class ChunkOrder:
    cdef AppContext app
    cdef tuple keys                # executors over the output event, or over its input
    cdef tuple descending
    cdef dict noted                # keys by address of the output event; None: read when sorting
    cdef int note(self, EventC* event, EventC* out) except -1
    cdef int sort(self, EventChunk* chunk) except -1
    cdef tuple values(self, EventC* event, EventC* out)
