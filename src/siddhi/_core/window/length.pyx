"""``length(n)``: the last n events."""

cimport cython

from siddhi._core.record.event cimport EventC, EventPool, release, retain
from siddhi._core.record.frame cimport MAX_BLOCK, now_ms
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.lookup cimport FoundC
from siddhi._core.runtime.ring cimport (
    EventRingC, ring_clear, ring_pop, ring_push, ring_read, ring_show, ring_write,
)
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.window.base cimport Window, state_of

cdef struct LengthStateC:
    EventRingC buffered


@cython.final
@cython.no_gc_clear
cdef class LengthWindow(Window):
    """Keeps the last ``length`` events. When it is full, the oldest event expires before the new one passes, in the
    same chunk.

    With a length of zero (or less) nothing is buffered: each event passes, expires at once and is followed by RESET.
    """

    cdef Py_ssize_t length

    def __init__(self, AppContext app not None, EventPool pool not None, Py_ssize_t length, bint stamps=True):
        Window.__init__(self, app, pool, stamps)
        self.length = length
        self.setup(sizeof(LengthStateC))

    def __dealloc__(self):
        self.close_all()

    cdef int process_one(self, EventC* event) except -1:
        cdef LengthStateC* state
        if self.length <= 0:
            return Window.process_one(self, event)
        state = <LengthStateC*> state_of(self)
        if state.buffered.size >= self.length:
            self.expire(ring_pop(&state.buffered), self.expiry_time())
        retain(self.pool, event)
        ring_push(&state.buffered, event)
        return self.next.process_one(event)

    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1:
        cdef EventC* left[MAX_BLOCK]
        cdef LengthStateC* state
        cdef Py_ssize_t i
        if self.length <= 0 or self.stamps or at[0] > 0 or not self.next_takes_pairs or not self.next.pairs_ready():
            return Window.process_block(self, events, n, at)
        state = <LengthStateC*> state_of(self)
        while at[0] < n:
            i = at[0]
            left[i] = ring_pop(&state.buffered) if state.buffered.size >= self.length else NULL
            retain(self.pool, events[i])
            ring_push(&state.buffered, events[i])
            at[0] += 1
        try:
            return self.next.process_pairs(left, events, n)
        finally:
            for i in range(n):
                if left[i] is not NULL:
                    release(self.pool, left[i])

    cdef int process(self, EventC* event) except -1:
        cdef LengthStateC* state = <LengthStateC*> state_of(self)
        if self.length <= 0:
            self.next.process(event)
            retain(self.pool, event)
            # The sender holds the event as well, so expire() emits a copy.
            self.expire(event, now_ms(&self.app.frame))
            return self.next.reset(event.timestamp)
        if state.buffered.size >= self.length:
            self.expire(ring_pop(&state.buffered), self.expiry_time())
        retain(self.pool, event)
        ring_push(&state.buffered, event)
        return self.next.process(event)

    cdef int collect_events(self, void* state, FoundC* found) except -1:
        return ring_show(&(<LengthStateC*> state).buffered, found)

    cdef void close_state(self, void* state) noexcept:
        ring_clear(&(<LengthStateC*> state).buffered, self.pool)

    cdef int write_state(self, void* state, SnapshotWriter writer) except -1:
        return ring_write(&(<LengthStateC*> state).buffered, writer, self.pool)

    cdef int read_state(self, void* state, SnapshotReader reader) except -1:
        return ring_read(&(<LengthStateC*> state).buffered, reader, self.pool)
