# Buckets of time. The calendar cuts at the boundaries of a time zone: GMT by arithmetic, any other by asking.

from libc.stdint cimport int64_t

cpdef enum BucketLength:               # finest first
    SECOND = 0
    MINUTE = 1
    HOUR = 2
    DAY = 3
    MONTH = 4
    YEAR = 5

cdef class Calendar:
    cdef object bounds_in_zone         # fn(length, ms) -> (start, end) for hours and longer; None: GMT
    cdef int bounds(self, int length, int64_t time, int64_t* start, int64_t* end) except -1

cdef int64_t time_of_text(str text) except? -1
