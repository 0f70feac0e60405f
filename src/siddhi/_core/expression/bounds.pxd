# The range of sorted numbers (index/sorted_index.pxd) that comparisons allow.

from libc.stdint cimport uint64_t

from siddhi._core.record.event cimport EventC
from siddhi._core.record.frame cimport FrameC

cdef class SortedRange:
    cdef int code                      # TypeCode of the numbers
    cdef tuple bounds                  # (executor, is a lower bound, is inclusive)
    # Compute the first and the last sort key; return False if the range is empty.
    cdef bint find(self, EventC* e, FrameC* f, uint64_t* low, uint64_t* high) except -1
