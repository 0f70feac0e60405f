"""Probes: receivers wrapped around others to measure or to stop, inserted only while needed."""

cimport cython
from libc.stdint cimport int64_t

from time import perf_counter_ns

from siddhi._core.record.chunk cimport EventChunk, chunk_clear, chunk_release
from siddhi._core.record.event cimport EventC
from siddhi._core.record.user_event cimport make_events, replace_values
from siddhi._core.runtime.operator cimport BlockTraits, Receiver
from siddhi._core.stream.junction cimport StreamJunction


@cython.final
cdef class Stopwatch:
    """Time measured by probes inside the current one. Shared by the probes of an app; guarded by the app's lock."""


@cython.final
cdef class LatencyProbe(Receiver):
    """Wraps a receiver and measures the time it takes, without that of nested probes.

    Args:
        inner: the wrapped receiver.
        target: the junction, or receiver of a partition, that it is subscribed to.
        stopwatch: the stopwatch of the app.

    Attributes:
        chunks: number of chunks received; a block of rows of a batch counts as one.
        nanoseconds: total time.
        slowest: longest time for one chunk, ns.
    """

    cdef readonly Receiver inner
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
        """Replace the receiver and reset the counters; the app's lock must be held."""
        self.chunks = self.nanoseconds = self.slowest = 0
        self.exchange(self.inner, self)

    def add(self, LatencyProbe other not None):
        """Add the counts of another probe."""
        self.chunks += other.chunks
        self.nanoseconds += other.nanoseconds
        self.slowest = max(self.slowest, other.slowest)

    def count(self, int64_t chunks, int64_t nanoseconds):
        """Go on counting from given values."""
        self.chunks = chunks
        self.nanoseconds = nanoseconds

    def detach(self):
        """Restore the receiver; the app's lock must be held."""
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


# --- Breakpoints: wrapped around the entry of a query while it is debugged.

@cython.final
cdef class Breakpoint(Receiver):
    """Wraps the entry of a query and calls a function before each chunk.

    Args:
        inner: the wrapped entry.
        junction: the junction it is subscribed to.
        function: ``fn(events: list[Event])``: returns None, or the rows that this query gets in place of the events. Its
            exceptions go to the app's error handling, and the query gets the events as they are.
    """

    cdef readonly Receiver inner
    cdef StreamJunction junction
    cdef object function

    def __init__(self, Receiver inner not None, StreamJunction junction not None, function not None):
        self.inner = inner
        self.junction = junction
        self.function = function

    def attach(self):
        """Replace the entry; the app's lock must be held."""
        self.junction.receivers = [self if receiver is self.inner else receiver for receiver in self.junction.receivers]
        self.junction.rebuild()

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef EventChunk replaced
        events = make_events(chunk, self.junction.pool, self.junction.layout)
        chunk_clear(&replaced)
        try:
            rows = self.function(events)
            if rows is not None:
                replace_values(chunk, rows, self.junction.pool, self.junction.layout, &replaced)
        except Exception as error:
            if self.junction.app.passes_on(error):
                raise error
            self.junction.app.handle(error, "debugger callback", events)
        if replaced.head is NULL:
            return self.inner.receive(chunk)
        # Other queries read the stream's records: what is changed here is a copy.
        try:
            return self.inner.receive(&replaced)
        finally:
            chunk_release(&replaced, self.junction.pool)

    cdef void abort(self) noexcept:
        self.inner.abort()
