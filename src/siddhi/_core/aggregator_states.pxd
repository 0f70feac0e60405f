# States of aggregators that are not grouped: one per partition slot.

from siddhi._core.processor cimport Processor
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter

cdef class AggregatorStates(Processor):
    cdef readonly list aggregators
    cdef set live                  # partition slots that have states
    cdef int reset_partition(self, unsigned int partition) except -1
