"""States of aggregators that are not grouped: those of a selection without group by, and those in filters."""

from siddhi._core.aggregator cimport Aggregator
from siddhi._core.context cimport AppContext


cdef class AggregatorStates(Processor):
    """Makes, drops, writes and reads one state per partition slot for each aggregator.

    Args:
        app: the app's context.
        aggregators: in order of evaluation.
    """

    def __init__(self, AppContext app not None, list aggregators not None):
        self.app = app
        self.aggregators = aggregators
        self.live = set()

    cdef int ensure(self, unsigned int partition) except -1:
        cdef Aggregator aggregator
        if partition not in self.live:
            for aggregator in self.aggregators:
                aggregator.create(partition)
            self.live.add(partition)
        return 0

    cdef int drop(self, unsigned int partition) except -1:
        cdef Aggregator aggregator
        if partition in self.live:
            for aggregator in self.aggregators:
                aggregator.destroy(partition)
            self.live.discard(partition)
        return 0

    cdef int reset_partition(self, unsigned int partition) except -1:
        cdef Aggregator aggregator
        for aggregator in self.aggregators:
            aggregator.reset(partition)
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef Aggregator aggregator
        writer.put_u32(len(self.live))
        for partition in sorted(self.live):
            writer.put_u32(partition)
            for aggregator in self.aggregators:
                aggregator.write(partition, writer)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef Aggregator aggregator
        cdef unsigned int n, partition
        cdef set missing = set(self.live)
        for partition in missing:
            self.drop(partition)
        try:
            n = reader.get_u32()
            for _ in range(n):  # no-cython-lint
                partition = reader.get_u32()
                if partition not in missing:
                    raise ValueError(f"snapshot is damaged: aggregates of no partition key ({partition})")
                missing.discard(partition)
                self.ensure(partition)
                for aggregator in self.aggregators:
                    aggregator.read(partition, reader)
        finally:
            for partition in missing:
                self.ensure(partition)
        return 0
