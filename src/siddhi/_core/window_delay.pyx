"""``delay(t)``: every event comes t milliseconds later."""

cimport cython
from libc.stdint cimport int64_t

from siddhi._core.context cimport AppContext
from siddhi._core.event cimport EventC, EventPool, release, retain
from siddhi._core.event_copy cimport own_event
from siddhi._core.executor cimport now_ms
from siddhi._core.queue cimport (
    QueueC, queue_clear, queue_first, queue_pop, queue_push, queue_read, queue_show, queue_write,
)
from siddhi._core.searchable cimport FoundC
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter
from siddhi._core.window cimport Window, state_of

cdef struct DelayStateC:
    QueueC held
    int64_t due                    # when the timer on its way is due, ms; 0: none


@cython.final
@cython.no_gc_clear
cdef class DelayWindow(Window):
    """Holds each event until it is ``duration_ms`` old, then passes it on as CURRENT, stamped with the clock.

    Nothing ever expires. Events leave in the order they came: a late one leaves no earlier than those before it.
    """

    cdef int64_t duration

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t duration_ms):
        Window.__init__(self, app, pool, True)
        self.duration = duration_ms
        self.setup(sizeof(DelayStateC))

    def __dealloc__(self):
        self.close_all()

    cdef int let_go(self, EventC* event, int64_t now) except -1:
        """Pass an event that is no longer held on; takes over its reference."""
        event = own_event(self.pool, event)
        event.timestamp = now
        try:
            return self.next.process(event)
        finally:
            release(self.pool, event)

    cdef int let_due_go(self, DelayStateC* state, int64_t now) except -1:
        while state.held.size and queue_first(&state.held).timestamp + self.duration <= now:
            self.let_go(queue_pop(&state.held), now)
        return 0

    cdef int plan_release(self, DelayStateC* state) except -1:
        """Set the timer for the oldest event, unless one is on its way."""
        if state.held.size and state.due == 0:
            state.due = queue_first(&state.held).timestamp + self.duration
            self.app.schedule(self, state.due, self.app.frame.partition)
        return 0

    cdef int process(self, EventC* event) except -1:
        cdef DelayStateC* state = <DelayStateC*> state_of(self)
        self.let_due_go(state, now_ms(&self.app.frame))
        retain(self.pool, event)
        queue_push(&state.held, event)
        return self.plan_release(state)

    cdef int on_timer(self, int64_t when) except -1:
        cdef DelayStateC* state
        if self.app.frame.partition >= self.capacity:
            return 0
        state = <DelayStateC*> state_of(self)
        if state is NULL or state.due != when:
            return 0  # of a key that was dropped, its slot perhaps used again
        state.due = 0
        try:
            self.let_due_go(state, now_ms(&self.app.frame))
        finally:
            self.plan_release(state)
        return self.next.finish()

    cdef int content(self, void* state, FoundC* found) except -1:
        return 0 if found is NULL else queue_show(&(<DelayStateC*> state).held, found)

    cdef void close_state(self, void* state) noexcept:
        queue_clear(&(<DelayStateC*> state).held, self.pool)

    cdef int write_state(self, void* state, SnapshotWriter writer) except -1:
        return queue_write(&(<DelayStateC*> state).held, writer, self.pool)

    cdef int read_state(self, void* state, SnapshotReader reader) except -1:
        queue_read(&(<DelayStateC*> state).held, reader, self.pool)
        return self.plan_release(<DelayStateC*> state)
