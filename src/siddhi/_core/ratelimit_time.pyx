"""``output [all | first | last] every <time>``, by the app's clock."""

cimport cython
from libc.stdint cimport int64_t, uint32_t

from siddhi._core.chunk cimport EventChunk, chunk_append, chunk_pop, chunk_release
from siddhi._core.context cimport AppContext
from siddhi._core.event cimport EventC, EventPool, release
from siddhi._core.executor cimport now_ms
from siddhi._core.ratelimit cimport GroupCellC, Limiter, LimiterState


@cython.final
@cython.no_gc_clear
cdef class AllEveryTime(Limiter):
    """What came since the last tick, at every tick.

    Args:
        period_ms: time between ticks.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t period_ms):
        Limiter.__init__(self, app, pool, False, period_ms)

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        chunk_append(&state.held, event)
        return 0

    cdef int tick(self, LimiterState state, EventChunk* out) except -1:
        while state.held.head is not NULL:
            chunk_append(out, chunk_pop(&state.held))
        return 0


@cython.final
@cython.no_gc_clear
cdef class LastEveryTime(Limiter):
    """At every tick the last event since the tick before, or the last one of each group, by first appearance.

    Args:
        period_ms: time between ticks.
        grouped: by group.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t period_ms, bint grouped):
        Limiter.__init__(self, app, pool, grouped, period_ms)

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        cdef uint32_t slot = self.slot_of(event)
        self.link(state, slot)
        chunk_release(&self.cells[slot].rows, self.pool)
        chunk_append(&self.cells[slot].rows, event)
        return 0

    cdef int tick(self, LimiterState state, EventChunk* out) except -1:
        cdef uint32_t slot
        while state.first:
            slot = state.first - 1
            chunk_append(out, chunk_pop(&self.cells[slot].rows))
            self.unlink(state, slot)
        return 0


@cython.final
@cython.no_gc_clear
cdef class FirstEveryTime(Limiter):
    """An event passes at once, if none (of its group) did in the time before.

    Args:
        time_ms: how long the others are dropped.
        grouped: by group.
    """

    cdef int64_t time

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t time_ms, bint grouped):
        Limiter.__init__(self, app, pool, grouped)
        self.time = time_ms

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        cdef uint32_t slot = self.slot_of(event)
        cdef GroupCellC* cell = &self.cells[slot]
        cdef int64_t now = now_ms(&self.app.frame)
        # Cells are linked in the order in which their events passed: those whose time is over are as if never seen.
        while state.first and now - self.cells[state.first - 1].value >= self.time:
            self.unlink(state, state.first - 1)
        if cell.linked:
            release(self.pool, event)
            return 0
        self.link(state, slot)
        cell.value = now
        chunk_append(out, event)
        return 0
