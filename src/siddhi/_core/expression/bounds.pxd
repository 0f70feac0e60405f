# The range of sorted numbers (index/sorted_index.pxd) that comparisons with numbers allow.

from libc.stdint cimport uint64_t

from siddhi._core.record.event cimport EventC
from siddhi._core.record.frame cimport FrameC

cdef class SortedRange:
    cdef int code                      # TypeCode of the numbers
    cdef tuple bounds                  # (executor, is it a lower bound, is it part of the range)
    # The first and the last sort key; False: nothing is in the range.
    cdef bint find(self, EventC* e, FrameC* f, uint64_t* low, uint64_t* high) except -1
