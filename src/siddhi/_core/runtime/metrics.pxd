# Metrics of single operations (a search, a change of a table). A disabled meter costs one test.

from libc.stdint cimport int64_t

cdef class OperationMeter:
    cdef readonly bint on
    cdef readonly int64_t operations       # number of inserts, changes and searches
    cdef readonly int64_t nanoseconds      # total time
    cdef readonly int64_t slowest          # longest time of one call, ns
    cdef int64_t begin(self) except? -1
    cdef int end(self, int64_t start, int64_t operations) except -1
