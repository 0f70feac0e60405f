"""Meters of operations."""

from time import perf_counter_ns


cdef class OperationMeter:
    """Counts and times one kind of operation on one table, window or aggregation. Guarded by the app's lock.

    Attributes:
        on: whether it measures.
        operations: number of operations since it was switched on.
        nanoseconds: their total time.
        slowest: the longest time of one call, ns.
    """

    def switch(self, bint on):
        """Start measuring from zero, or stop."""
        self.on = on
        if on:
            self.operations = self.nanoseconds = self.slowest = 0

    cdef int64_t begin(self) except? -1:
        return perf_counter_ns()

    cdef int end(self, int64_t start, int64_t operations) except -1:
        cdef int64_t taken = perf_counter_ns() - start
        self.operations += operations
        self.nanoseconds += taken
        self.slowest = max(self.slowest, taken)
        return 0
