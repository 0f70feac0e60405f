"""``output [all | first | last] every N events``."""

cimport cython
from libc.stdint cimport int64_t, uint32_t

from siddhi._core.chunk cimport EventChunk, chunk_append, chunk_clear, chunk_release
from siddhi._core.context cimport AppContext
from siddhi._core.event cimport EventC, EventPool, release
from siddhi._core.ratelimit cimport GroupCellC, Limiter, LimiterState


@cython.final
@cython.no_gc_clear
cdef class AllEveryEvents(Limiter):
    """Groups of N events leave together; none ever with N < 1.

    Args:
        events: N.
    """

    cdef int64_t events

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t events):
        Limiter.__init__(self, app, pool, False)
        self.events = events

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        if self.events < 1:
            release(self.pool, event)
            return 0
        chunk_append(&state.held, event)
        state.count += 1
        if state.count == self.events:
            state.count = 0
            append_chunk(out, &state.held)
        return 0


@cython.final
@cython.no_gc_clear
cdef class FirstEveryEvents(Limiter):
    """The first of every N events, of each group where there is group by; the very first one only with N < 1.

    Args:
        events: N.
        grouped: count by group.
    """

    cdef int64_t events

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t events, bint grouped):
        Limiter.__init__(self, app, pool, grouped)
        self.events = events

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        cdef uint32_t slot = self.slot_of(event)
        cdef GroupCellC* cell = &self.cells[slot]
        self.link(state, slot)
        cell.value += 1
        if cell.value == 1:
            chunk_append(out, event)
        else:
            release(self.pool, event)
        if cell.value == self.events:
            self.unlink(state, slot)  # as if it had never been
        return 0


@cython.final
@cython.no_gc_clear
cdef class LastEveryEvents(Limiter):
    """With every N-th event the last one, or the last one of each group since then, by first appearance.

    Args:
        events: N; nothing is put out with N < 1.
        grouped: by group.
    """

    cdef int64_t events

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t events, bint grouped):
        Limiter.__init__(self, app, pool, grouped)
        self.events = events

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        cdef uint32_t slot = self.slot_of(event)
        if self.events < 1:
            release(self.pool, event)
            return 0
        self.link(state, slot)
        chunk_release(&self.cells[slot].rows, self.pool)
        chunk_append(&self.cells[slot].rows, event)
        state.count += 1
        if state.count == self.events:
            state.count = 0
            while state.first:
                slot = state.first - 1
                append_chunk(out, &self.cells[slot].rows)
                self.unlink(state, slot)
        return 0


cdef inline void append_chunk(EventChunk* chunk, EventChunk* other) noexcept:
    """Move the events of another chunk to the end."""
    if other.head is NULL:
        return
    if chunk.tail is NULL:
        chunk.head = other.head
    else:
        chunk.tail.next = other.head
    chunk.tail = other.tail
    chunk_clear(other)
