# Aggregators of temporal windows, whose rows leave in any order.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.aggregate.aggregator cimport Aggregator
from siddhi._core.record.event cimport EventC
from siddhi._core.record.frame cimport FrameC

# Return a key in the order of the numbers, never 0 or 2**64 - 1; NaN is the greatest.
cdef uint64_t key_of_real(double value) noexcept

cdef enum Part:
    ALIVE = 0                      # rows alive in the window
    BEGINNING = 1                  # those of them that start after the start of the window
    ENDING = 2                     # those of them that end before its end

cdef class TimeWeighted(Aggregator):
    cdef bint covered
    # A row joins a part of the window, at its start (BEGINNING) or end (ENDING); sign < 0: it leaves it.
    cdef int change(self, uint32_t group_id, EventC* row, FrameC* frame, int part, int sign, int64_t time) except -1
    # Set the window that the value is for.
    cdef int look(self, uint32_t group_id, int64_t start, int64_t end) except -1
