"""``timeLength(t, n)``: the last n events, each held for t milliseconds of the app's clock at the most."""

cimport cython
from libc.stdint cimport int64_t

from siddhi._core.context cimport AppContext
from siddhi._core.event cimport EventC, EventPool, retain
from siddhi._core.executor cimport now_ms
from siddhi._core.queue cimport (
    QueueC, queue_clear, queue_first, queue_pop, queue_push, queue_read, queue_show, queue_write,
)
from siddhi._core.searchable cimport FoundC
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter
from siddhi._core.window cimport Window, state_of

cdef struct TimeLengthStateC:
    QueueC held
    int64_t due                    # when the timer on its way is due, ms; 0: none


@cython.final
@cython.no_gc_clear
cdef class TimeLengthWindow(Window):
    """On arrival what is too old expires, then the oldest event if n are still held, then the event passes.

    With a length of zero (or less) nothing is held and nothing expires.

    Args:
        duration_ms: t.
        length: n.
    """

    cdef int64_t duration
    cdef Py_ssize_t length

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t duration_ms, Py_ssize_t length,
                 bint stamps=True):
        Window.__init__(self, app, pool, stamps)
        self.duration = duration_ms
        self.length = length
        self.setup(sizeof(TimeLengthStateC))

    def __dealloc__(self):
        self.close_all()

    cdef int expire_due(self, TimeLengthStateC* state, int64_t now) except -1:
        while state.held.size and queue_first(&state.held).timestamp + self.duration <= now:
            self.expire(queue_pop(&state.held), now)
        return 0

    cdef int plan_expiry(self, TimeLengthStateC* state) except -1:
        """Set the timer for the oldest event, unless one is on its way. It may be early, where its event left for the
        length, but not late: behind that event an older one may have been held."""
        cdef int64_t due
        if state.held.size:
            due = queue_first(&state.held).timestamp + self.duration
            if state.due == 0 or due < state.due:
                state.due = due
                self.app.schedule(self, due, self.app.frame.partition)
        return 0

    cdef int admit(self, EventC* event) except -1:
        cdef TimeLengthStateC* state = <TimeLengthStateC*> state_of(self)
        cdef int64_t now = now_ms(&self.app.frame)
        self.expire_due(state, now)
        if self.length <= 0:
            return 0
        if state.held.size >= self.length:
            self.expire(queue_pop(&state.held), now)
        retain(self.pool, event)
        queue_push(&state.held, event)
        return self.plan_expiry(state)

    cdef int process(self, EventC* event) except -1:
        self.admit(event)
        return self.next.process(event)

    cdef int process_one(self, EventC* event) except -1:
        self.admit(event)
        return self.next.process_one(event)

    cdef int on_timer(self, int64_t when) except -1:
        cdef TimeLengthStateC* state
        if self.app.frame.partition >= self.capacity:
            return 0
        state = <TimeLengthStateC*> state_of(self)
        if state is NULL or state.due != when:
            return 0  # of a key that was dropped, its slot perhaps used again
        state.due = 0
        self.expire_due(state, now_ms(&self.app.frame))
        self.plan_expiry(state)
        return self.next.finish()

    cdef int content(self, void* state, FoundC* found) except -1:
        return 0 if found is NULL else queue_show(&(<TimeLengthStateC*> state).held, found)

    cdef void close_state(self, void* state) noexcept:
        queue_clear(&(<TimeLengthStateC*> state).held, self.pool)

    cdef int write_state(self, void* state, SnapshotWriter writer) except -1:
        queue_write(&(<TimeLengthStateC*> state).held, writer, self.pool)
        return writer.put_i64((<TimeLengthStateC*> state).due)

    cdef int read_state(self, void* address, SnapshotReader reader) except -1:
        cdef TimeLengthStateC* state = <TimeLengthStateC*> address
        queue_read(&state.held, reader, self.pool)
        state.due = reader.get_i64()
        if state.due:
            # Early as it may be: it decides which key of a partition comes first.
            self.app.schedule(self, state.due, self.app.frame.partition)
        return self.plan_expiry(state)
