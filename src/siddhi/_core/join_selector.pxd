# The selection of a join. The matches of one event are a chunk of their own where it matters (last event, last per
# group, order, limit), yet what all of them leave is put out together.

from siddhi._core.chunk cimport EventChunk
from siddhi._core.event cimport EventC
from siddhi._core.order cimport ChunkOrder
from siddhi._core.selector cimport Selector

cdef class PairOrder(ChunkOrder):
    cdef dict kept                 # the keys of a part's output events by their addresses
    cdef int note(self, EventC* pair, EventC* out) except -1

cdef class JoinSelector(Selector):
    cdef EventChunk done           # what the parts so far have left
    cdef PairOrder pairs           # the order by, where it reads the pairs; else None
    cdef int end_part(self) except -1
