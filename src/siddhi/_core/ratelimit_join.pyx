"""The selection of a join in front of a rate limiter."""

cimport cython
from libc.stdint cimport int64_t

from siddhi._core.event cimport EventC
from siddhi._core.join_selector cimport JoinSelector
from siddhi._core.ratelimit cimport Limiter
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter


@cython.final
@cython.no_gc_clear
cdef class LimitedJoinSelector(JoinSelector):
    """What :class:`siddhi._core.ratelimit.LimitedSelector` is to a selector.

    Args:
        arguments: those of the selector.
        limiter: the limiter.
    """

    cdef Limiter limiter

    def __init__(self, tuple arguments not None, Limiter limiter not None):
        JoinSelector.__init__(self, *arguments)
        self.limiter = limiter
        if limiter.judges:
            limiter.having = self.having
            self.having = None

    cdef EventC* select(self, EventC* event) except? NULL:
        return self.limiter.mark(event, JoinSelector.select(self, event))

    cdef int reset(self, int64_t timestamp) except -1:
        JoinSelector.reset(self, timestamp)
        return self.limiter.reset(timestamp)

    cdef int ensure(self, unsigned int partition) except -1:
        JoinSelector.ensure(self, partition)
        return self.limiter.ensure(partition)

    cdef int drop(self, unsigned int partition) except -1:
        self.limiter.drop(partition)
        return JoinSelector.drop(self, partition)

    cdef int write(self, SnapshotWriter writer) except -1:
        JoinSelector.write(self, writer)
        return self.limiter.write(writer)

    cdef int read(self, SnapshotReader reader) except -1:
        self.limiter.clear()
        try:
            JoinSelector.read(self, reader)
            return self.limiter.read_states(reader, 0 if self.groups is None else self.groups.keys.slots())
        finally:
            self.limiter.complete()
