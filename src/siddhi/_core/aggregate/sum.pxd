# The aggregators sum, avg and count. See sum.pyx.

from libc.stdint cimport int64_t

from siddhi._core.aggregate.aggregator cimport Aggregator

# States begin with the count, so that emptiness needs no look at the type. A count is a count alone.

cdef struct LongSumC:
    int64_t count                  # values held
    int64_t total

cdef struct DoubleSumC:
    int64_t count
    double total

cdef class SumAggregator(Aggregator):
    cdef bint keeps_remainder           # what is left of a sum without values counts: removals need not match additions
    cdef readonly str native       # "sum", "avg" or "count"
