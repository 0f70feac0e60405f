# The selection of a join. The matches of one event are a chunk of their own where it matters (last event, last per
# group, order, limit), yet what all of them leave is put out together.

from siddhi._core.chunk cimport EventChunk
from siddhi._core.selector cimport Selector

cdef class JoinSelector(Selector):
    cdef EventChunk done           # what the parts so far have left
    cdef void forget_keys(self) noexcept
    cdef int end_part(self) except -1
