# The aggregators sum, avg and count. See aggregator_sum.pyx.

from siddhi._core.aggregator cimport Aggregator

cdef class SumAggregator(Aggregator):
    pass
