# Measuring single operations (a search, a change of a table). A meter that is off costs looking whether it is.

from libc.stdint cimport int64_t

cdef class OperationMeter:
    cdef readonly bint on
    cdef readonly int64_t operations       # events that inserted or changed, searches
    cdef readonly int64_t nanoseconds      # taken, in all
    cdef readonly int64_t slowest          # most that one call took, ns
    cdef int64_t begin(self) except? -1
    cdef int end(self, int64_t start, int64_t operations) except -1
