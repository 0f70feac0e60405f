"""Measuring what a receiver takes: a receiver around it, put in only while somebody wants to know."""

cimport cython
from libc.stdint cimport int64_t

from time import perf_counter_ns

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC
from siddhi._core.record.user_event cimport make_events
from siddhi._core.runtime.operator cimport BlockTraits, Receiver
from siddhi._core.stream.junction cimport StreamJunction


@cython.final
cdef class Stopwatch:
    """Shared by the probes of an app, whose lock guards it: the measurements of the probes inside the running one."""

    cdef int64_t inside


@cython.final
cdef class LatencyProbe(Receiver):
    """Stands in for a receiver and measures the time it takes, without that of probes further down.

    Args:
        inner: the receiver.
        place: the junction, or the receiver of a partition, to which it is subscribed.
        stopwatch: the app's.

    Attributes:
        chunks: chunks received; a block of rows of a batch counts as one.
        nanoseconds: time taken, in all.
        slowest: the longest time one of them took, ns.
    """

    cdef Receiver inner
    cdef object target
    cdef Stopwatch stopwatch
    cdef readonly int64_t chunks
    cdef readonly int64_t nanoseconds
    cdef readonly int64_t slowest

    def __init__(self, Receiver inner not None, target not None, Stopwatch stopwatch not None):
        self.inner = inner
        self.target = target
        self.stopwatch = stopwatch

    def attach(self):
        """Take the receiver's place, from zero; the app's lock is held."""
        self.chunks = self.nanoseconds = self.slowest = 0
        self.exchange(self.inner, self)

    def detach(self):
        """Give the receiver its place back; the app's lock is held."""
        if isinstance(self.target, StreamJunction):
            (<StreamJunction> self.target).retire(self)
        self.exchange(self, self.inner)

    cdef int exchange(self, Receiver old, Receiver new) except -1:
        cdef list receivers = [new if receiver is old else receiver for receiver in self.target.receivers]
        if not isinstance(self.target, StreamJunction):
            self.target.receivers = receivers
            return 0
        (<StreamJunction> self.target).receivers = receivers
        return (<StreamJunction> self.target).rebuild()

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef int64_t before = self.stopwatch.inside, start
        self.stopwatch.inside = 0
        start = perf_counter_ns()
        try:
            return self.inner.receive(chunk)
        finally:
            self.note(perf_counter_ns() - start, before)

    cdef int receive_block(self, EventC** events, Py_ssize_t n) except -1:
        cdef int64_t before = self.stopwatch.inside, start
        self.stopwatch.inside = 0
        start = perf_counter_ns()
        try:
            return self.inner.receive_block(events, n)
        finally:
            self.note(perf_counter_ns() - start, before)

    cdef void note(self, int64_t taken, int64_t before) noexcept:
        cdef int64_t own = max(<int64_t> 0, taken - self.stopwatch.inside)
        self.stopwatch.inside = before + taken
        self.chunks += 1
        self.nanoseconds += own
        self.slowest = max(self.slowest, own)

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        self.inner.bind_blocks(traits)
        traits.retains = True
        return 0

    cdef void abort(self) noexcept:
        self.inner.abort()


# --- Stopping where events enter a query: a receiver around the query's own, put in only while somebody debugs.

@cython.final
cdef class Breakpoint(Receiver):
    """Stands in for the entry of a query, and calls a function before each chunk goes in.

    Args:
        inner: the entry.
        junction: to which it is subscribed.
        function: ``fn(events: list[Event])``; the app's error handling takes what it raises.
    """

    cdef Receiver inner
    cdef StreamJunction junction
    cdef object function

    def __init__(self, Receiver inner not None, StreamJunction junction not None, function not None):
        self.inner = inner
        self.junction = junction
        self.function = function

    def attach(self):
        """Take the entry's place; the app's lock is held."""
        self.junction.receivers = [self if receiver is self.inner else receiver for receiver in self.junction.receivers]
        self.junction.rebuild()

    cdef int receive(self, EventChunk* chunk) except -1:
        events = make_events(chunk, self.junction.pool, self.junction.layout)
        try:
            self.function(events)
        except Exception as error:
            if self.junction.app.passes_on(error):
                raise error
            self.junction.app.handle(error, "debugger callback", events)
        return self.inner.receive(chunk)

    cdef void abort(self) noexcept:
        self.inner.abort()
