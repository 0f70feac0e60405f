# The aggregators sum, avg and count. See sum.pyx.

from libc.stdint cimport int64_t

from siddhi._core.aggregate.aggregator cimport Aggregator

# States begin with the count, so that `is_empty` does not depend on the type. A count state is a count only.

cdef struct LongSumC:
    int64_t count                  # number of values
    int64_t total

cdef struct DoubleSumC:
    int64_t count
    double total

cdef class SumAggregator(Aggregator):
    cdef bint keeps_remainder           # a nonzero sum without values is not empty: removals need not match additions
    cdef readonly str native            # "sum", "avg" or "count"
