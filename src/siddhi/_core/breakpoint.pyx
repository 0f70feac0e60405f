"""Stopping where events enter a query: a receiver around the query's own, put in only while somebody debugs."""

cimport cython
from libc.stdint cimport uint64_t

from siddhi._core.chunk cimport EventChunk
from siddhi._core.junction cimport StreamJunction
from siddhi._core.processor cimport Receiver
from siddhi._core.user_event cimport make_events


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

    def put_in(self):
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

    cdef uint64_t reads(self) noexcept:
        return ~(<uint64_t> 0)

    cdef void abort(self) noexcept:
        self.inner.abort()
