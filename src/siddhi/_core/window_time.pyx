"""``time(t)``: the events of the last t milliseconds of the app's clock."""

cimport cython
from libc.stdint cimport int64_t, uint64_t

from siddhi._core.context cimport AppContext
from siddhi._core.event cimport EventC, EventPool, retain
from siddhi._core.executor cimport now_ms
from siddhi._core.instant cimport check_instant, is_instant, refuse_instant
from siddhi._core.queue cimport (
    QueueC, queue_at, queue_clear, queue_first, queue_pop, queue_push, queue_read, queue_show, queue_write,
)
from siddhi._core.searchable cimport FoundC
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter
from siddhi._core.window cimport Window, state_of

cdef struct TimeStateC:
    QueueC held
    int64_t due                    # when the timer on its way is due, ms; 0: none


@cython.final
@cython.no_gc_clear
cdef class TimeWindow(Window):
    """Holds an event until it is ``duration_ms`` old; exactly that old is expired.

    The queue is scanned from the oldest and the scan stops at the first event that is young enough, so a late event
    expires no earlier than those that came before it. One timer per partition, for the oldest event, is enough:
    whatever is due when it fires goes in one chunk.
    """

    cdef int64_t duration

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t duration_ms, bint stamps=True):
        Window.__init__(self, app, pool, stamps)
        self.duration = duration_ms
        self.setup(sizeof(TimeStateC))

    def __dealloc__(self):
        self.close_all()

    cdef int expire_due(self, TimeStateC* state, int64_t now) except -1:
        while state.held.size and queue_first(&state.held).timestamp + self.duration <= now:
            self.expire(queue_pop(&state.held), now)
        return 0

    cdef int plan_expiry(self, TimeStateC* state) except -1:
        """Set the timer for the oldest event, unless one is on its way."""
        if state.held.size and state.due == 0:
            state.due = queue_first(&state.held).timestamp + self.duration
            self.app.schedule(self, state.due, self.app.frame.partition)
        return 0

    cdef int admit(self, EventC* event) except -1:
        """What is due expires, the event is held."""
        cdef TimeStateC* state = <TimeStateC*> state_of(self)
        self.expire_due(state, now_ms(&self.app.frame))
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
        cdef TimeStateC* state
        if self.app.frame.partition >= self.capacity:
            return 0
        state = <TimeStateC*> state_of(self)
        if state is NULL or state.due != when:
            return 0  # of a key that was dropped, its slot perhaps used again
        state.due = 0
        try:
            self.expire_due(state, now_ms(&self.app.frame))
        finally:
            self.plan_expiry(state)
        return self.next.finish()

    cdef int content(self, void* state, FoundC* found) except -1:
        return queue_show(&(<TimeStateC*> state).held, found)

    cdef void close_state(self, void* state) noexcept:
        queue_clear(&(<TimeStateC*> state).held, self.pool)

    cdef int write_state(self, void* state, SnapshotWriter writer) except -1:
        return queue_write(&(<TimeStateC*> state).held, writer, self.pool)

    cdef int read_state(self, void* state, SnapshotReader reader) except -1:
        queue_read(&(<TimeStateC*> state).held, reader, self.pool)
        return self.plan_expiry(<TimeStateC*> state)


@cython.final
@cython.no_gc_clear
cdef class ExternalTimeWindow(Window):
    """``externalTime(ts, t)``: like time, but the clock is an attribute of the events, and nothing happens between
    them.

    An event without time is refused (ValueError). On an event with external time T, held events with ``ts + t <= T``
    expire before it, from the oldest until the first that is younger, stamped with T.

    Args:
        position: of the long attribute in the window's records.
        duration_ms: t.
    """

    cdef int64_t duration
    cdef str attribute
    cdef int cell
    cdef int word
    cdef uint64_t bit

    def __init__(self, AppContext app not None, EventPool pool not None, int position, int64_t duration_ms,
                 bint stamps=True):
        Window.__init__(self, app, pool, stamps)
        self.duration = duration_ms
        self.attribute = pool.layout.names[position]
        self.cell = pool.layout.cell(position)
        self.word = pool.layout.null_word(position)
        self.bit = (<uint64_t> 1) << (position & 63)
        self.setup(sizeof(TimeStateC))

    def __dealloc__(self):
        self.close_all()

    cdef int admit(self, EventC* event) except -1:
        """What is due by the event's own time expires, the event is held."""
        cdef TimeStateC* state = <TimeStateC*> state_of(self)
        cdef int64_t now = <int64_t> event.body[self.cell]
        if event.body[self.word] & self.bit:
            raise ValueError(f"externalTime goes by '{self.attribute}', which is null")
        if not is_instant(now):
            refuse_instant(now, f"externalTime goes by '{self.attribute}':")
        while state.held.size and <int64_t> queue_first(&state.held).body[self.cell] + self.duration <= now:
            self.expire(queue_pop(&state.held), now)
        retain(self.pool, event)
        return queue_push(&state.held, event)

    cdef int process(self, EventC* event) except -1:
        self.admit(event)
        return self.next.process(event)

    cdef int process_one(self, EventC* event) except -1:
        self.admit(event)
        return self.next.process_one(event)

    cdef int content(self, void* state, FoundC* found) except -1:
        return queue_show(&(<TimeStateC*> state).held, found)

    cdef void close_state(self, void* state) noexcept:
        queue_clear(&(<TimeStateC*> state).held, self.pool)

    cdef int write_state(self, void* state, SnapshotWriter writer) except -1:
        return queue_write(&(<TimeStateC*> state).held, writer, self.pool)

    cdef int read_state(self, void* state, SnapshotReader reader) except -1:
        cdef QueueC* held = &(<TimeStateC*> state).held
        cdef Py_ssize_t i
        queue_read(held, reader, self.pool)
        for i in range(held.size):
            check_instant(<int64_t> queue_at(held, i).body[self.cell], "snapshot is damaged:")
        return 0
