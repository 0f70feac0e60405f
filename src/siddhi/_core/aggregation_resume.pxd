# Rows at work after a restart, where rows of buckets that are over are kept in a store.

from libc.stdint cimport int64_t

from siddhi._core.aggregation cimport Aggregation

cdef list rolled_up(Aggregation self)
cdef int rebuild(Aggregation self, list until, int64_t now) except -1
cdef int reconcile(Aggregation self, int64_t now) except -1
cdef int decide(Aggregation self, int64_t now) except -1
