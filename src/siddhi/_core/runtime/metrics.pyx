"""Meters of operations."""

from time import perf_counter_ns


cdef class OperationMeter:
    """Counts one kind of operation on one table, window or aggregation, and the time it takes. The app's lock guards it.

    Attributes:
        on: whether it measures.
        operations: how many there were since it was switched on.
        nanoseconds: time they took, in all.
        slowest: the longest time one call took, ns.
    """

    def switch(self, bint on):
        """Measure from zero on, or stop."""
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
