# Time measured by probes.

from libc.stdint cimport int64_t

cdef class Stopwatch:
    cdef int64_t inside
