# The aggregators sum, avg and count. See aggregator_sum.pyx.

from siddhi._core.aggregator cimport Aggregator

cdef class SumAggregator(Aggregator):
    cdef bint keeps_rest           # what is left of a sum without values counts: removals need not match additions
