# The receiver of one stream that a pattern reads.

from libc.stdint cimport uint64_t

from siddhi._core.chunk cimport EventChunk
from siddhi._core.context cimport FaultSink
from siddhi._core.event cimport EventC
from siddhi._core.pattern cimport Pattern
from siddhi._core.pattern_index cimport PatternIndex
from siddhi._core.processor cimport Receiver, receive_fn

cdef class PatternEntry(Receiver):
    cdef Pattern pattern
    cdef int stream
    cdef FaultSink source
    cdef PatternIndex index        # of the first state that its events meet, or None
    cdef uint64_t read_mask
