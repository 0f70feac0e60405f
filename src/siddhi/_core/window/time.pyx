"""``time(t)``: the events of the last t milliseconds of the app's clock."""

cimport cython
from cpython.mem cimport PyMem_Free
from libc.stdint cimport int64_t, uint64_t

from siddhi._core.record.event cimport EventC, EventPool, own_event, release, retain
from siddhi._core.record.frame cimport now_ms
from siddhi._core.record.instant cimport check_instant, is_instant, refuse_instant
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.lookup cimport FoundC
from siddhi._core.runtime.ring cimport (
    EventRingC, double_ring, ring_at, ring_clear, ring_first, ring_pop, ring_push, ring_read, ring_show, ring_write,
)
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.window.base cimport Window, state_of

cdef struct TimeStateC:
    EventRingC buffered
    int64_t due                    # due time of the pending timer, ms; 0: none


@cython.final
@cython.no_gc_clear
cdef class TimeWindow(Window):
    """Holds an event until it is ``duration_ms`` old; at exactly that age it expires.

    The ring buffer is scanned from the oldest event up to the first that is young enough, so a late event expires no
    earlier than those that arrived before it. One timer per partition, for the oldest event, is enough: all events due
    when it fires leave in one chunk.
    """

    cdef int64_t duration

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t duration_ms, bint stamps=True):
        Window.__init__(self, app, pool, stamps)
        self.duration = duration_ms
        self.setup(sizeof(TimeStateC))

    def __dealloc__(self):
        self.close_all()

    cdef int expire_due(self, TimeStateC* state, int64_t now) except -1:
        while state.buffered.size and ring_first(&state.buffered).timestamp + self.duration <= now:
            self.expire(ring_pop(&state.buffered), now)
        return 0

    cdef int plan_expiry(self, TimeStateC* state) except -1:
        """Schedule the timer of the oldest event, unless one is pending."""
        if state.buffered.size and state.due == 0:
            state.due = ring_first(&state.buffered).timestamp + self.duration
            self.app.schedule(self, state.due, self.app.frame.partition)
        return 0

    cdef int admit(self, EventC* event) except -1:
        """Expire what is due, then hold the event."""
        cdef TimeStateC* state = <TimeStateC*> state_of(self)
        self.expire_due(state, now_ms(&self.app.frame))
        retain(self.pool, event)
        ring_push(&state.buffered, event)
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
            return 0  # of a removed key, whose partition id may be reused
        state.due = 0
        try:
            self.expire_due(state, now_ms(&self.app.frame))
        finally:
            self.plan_expiry(state)
        return self.next.finish()

    cdef int collect_events(self, void* state, FoundC* found) except -1:
        return ring_show(&(<TimeStateC*> state).buffered, found)

    cdef void close_state(self, void* state) noexcept:
        ring_clear(&(<TimeStateC*> state).buffered, self.pool)

    cdef int write_state(self, void* state, SnapshotWriter writer) except -1:
        return ring_write(&(<TimeStateC*> state).buffered, writer, self.pool)

    cdef int read_state(self, void* state, SnapshotReader reader) except -1:
        ring_read(&(<TimeStateC*> state).buffered, reader, self.pool)
        return self.plan_expiry(<TimeStateC*> state)


@cython.final
@cython.no_gc_clear
cdef class ExternalTimeWindow(Window):
    """``externalTime(ts, t)``: a sliding time window whose clock is an attribute of the events.

    An event with a null or an invalid time is refused (ValueError). An event with time T first expires the buffered
    events with ``ts + t <= T``, stamped with T, from the oldest up to the first that is younger. Nothing expires
    between events.

    Args:
        position: index of the long attribute in the window's records.
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
        """Expire what is due by the time of the event, then hold the event."""
        cdef TimeStateC* state = <TimeStateC*> state_of(self)
        cdef int64_t now = <int64_t> event.body[self.cell]
        if event.body[self.word] & self.bit:
            raise ValueError(f"the time of externalTime, '{self.attribute}', is null: expected ms since 1970")
        if not is_instant(now):
            refuse_instant(now, f"the time of externalTime, '{self.attribute}':")
        while state.buffered.size and <int64_t> ring_first(&state.buffered).body[self.cell] + self.duration <= now:
            self.expire(ring_pop(&state.buffered), now)
        retain(self.pool, event)
        return ring_push(&state.buffered, event)

    cdef int process(self, EventC* event) except -1:
        self.admit(event)
        return self.next.process(event)

    cdef int process_one(self, EventC* event) except -1:
        self.admit(event)
        return self.next.process_one(event)

    cdef int collect_events(self, void* state, FoundC* found) except -1:
        return ring_show(&(<TimeStateC*> state).buffered, found)

    cdef void close_state(self, void* state) noexcept:
        ring_clear(&(<TimeStateC*> state).buffered, self.pool)

    cdef int write_state(self, void* state, SnapshotWriter writer) except -1:
        return ring_write(&(<TimeStateC*> state).buffered, writer, self.pool)

    cdef int read_state(self, void* state, SnapshotReader reader) except -1:
        cdef EventRingC* buffered = &(<TimeStateC*> state).buffered
        cdef Py_ssize_t i
        ring_read(buffered, reader, self.pool)
        for i in range(buffered.size):
            check_instant(<int64_t> ring_at(buffered, i).body[self.cell], "snapshot is damaged:")
        return 0


# --- ``timeLength(t, n)``: the last n events, each buffered for at most t milliseconds of the app's clock.

cdef int64_t WITH_TIMERS = -(<int64_t> 1 << 63)   # in a snapshot: the timers follow
cdef Py_ssize_t FEWEST_TIMERS = 256

cdef struct TimeLengthStateC:
    EventRingC buffered
    # Fire times of the timers; those of events that left because of the length come first.
    int64_t* timers                # ring buffer [mask + 1], NULL before the first event
    Py_ssize_t mask
    Py_ssize_t first
    Py_ssize_t n_timers
    int64_t due                    # due time of the pending timer, ms; 0: none


cdef inline int64_t timer_at(const TimeLengthStateC* state, Py_ssize_t i) noexcept:
    return state.timers[(state.first + i) & state.mask]


cdef inline int add_timer(TimeLengthStateC* state, int64_t when) except -1:
    if state.timers is NULL or state.n_timers > state.mask:
        state.timers = <int64_t*> double_ring(state.timers, &state.mask, &state.first, sizeof(int64_t))
    state.timers[(state.first + state.n_timers) & state.mask] = when
    state.n_timers += 1
    return 0


cdef inline void drop_timers(TimeLengthStateC* state, int64_t now) noexcept:
    """Remove the timers that have fired by now."""
    while state.n_timers and timer_at(state, 0) <= now:
        state.first = (state.first + 1) & state.mask
        state.n_timers -= 1


@cython.final
@cython.no_gc_clear
cdef class TimeLengthWindow(Window):
    """Holds the last n events, each for at most t milliseconds.

    On arrival the expired events leave first, then the oldest one if n are still buffered, then the new event passes:
    one chunk.

    Between arrivals timers expire events. As in Siddhi there is one timer per event, and timers fire in the order of
    arrival: that of a late event waits for that of the event before it. Each timer expires from the oldest event up to
    the first that is young enough. A late event may therefore expire with the timer of an event that has left. The
    window keeps at least as many timers as it has events, and at least 256.

    With a length of zero (or less) nothing is buffered and nothing expires.

    Args:
        duration_ms: t.
        length: n.
    """

    cdef int64_t duration
    cdef Py_ssize_t length
    cdef Py_ssize_t most_timers    # number of timers kept if there are fewer events

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t duration_ms, Py_ssize_t length,
                 bint stamps=True):
        Window.__init__(self, app, pool, stamps)
        self.duration = duration_ms
        self.length = length
        self.most_timers = max(FEWEST_TIMERS, length)
        self.setup(sizeof(TimeLengthStateC))

    def __dealloc__(self):
        self.close_all()

    cdef int expire_due(self, TimeLengthStateC* state, int64_t now) except -1:
        while state.buffered.size and ring_first(&state.buffered).timestamp + self.duration <= now:
            self.expire(ring_pop(&state.buffered), now)
        return 0

    cdef inline int hold(self, TimeLengthStateC* state, EventC* event, int64_t now) except -1:
        cdef int64_t when = event.timestamp + self.duration
        if state.due == 0 or state.due > now:
            drop_timers(state, now)
        if state.n_timers:
            when = max(when, timer_at(state, state.n_timers - 1))
        add_timer(state, when)
        retain(self.pool, event)
        ring_push(&state.buffered, event)
        if state.n_timers > self.most_timers and state.n_timers > state.buffered.size:
            state.first = (state.first + 1) & state.mask
            state.n_timers -= 1
        return 0

    cdef int plan_expiry(self, TimeLengthStateC* state, int64_t now) except -1:
        """Schedule the next timer that can expire an event, unless one is pending. It may fire early if its event has
        left."""
        cdef int64_t due
        if state.buffered.size == 0 or (state.due != 0 and state.due <= now):
            return 0
        due = timer_at(state, state.n_timers - state.buffered.size)
        if due > ring_first(&state.buffered).timestamp + self.duration:
            # It expires before its own timer fires.
            due = timer_at(state, 0)
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
        if state.buffered.size >= self.length:
            self.expire(ring_pop(&state.buffered), now)
        self.hold(state, event, now)
        return self.plan_expiry(state, now)

    cdef int process(self, EventC* event) except -1:
        self.admit(event)
        return self.next.process(event)

    cdef int process_one(self, EventC* event) except -1:
        self.admit(event)
        return self.next.process_one(event)

    cdef int on_timer(self, int64_t when) except -1:
        cdef TimeLengthStateC* state
        cdef int64_t now = now_ms(&self.app.frame)
        if self.app.frame.partition >= self.capacity:
            return 0
        state = <TimeLengthStateC*> state_of(self)
        if state is NULL or state.due != when:
            return 0  # of a removed key, whose partition id may be reused
        state.due = 0
        try:
            self.expire_due(state, now)
        finally:
            drop_timers(state, now)
            self.plan_expiry(state, now)
        return self.next.finish()

    cdef int collect_events(self, void* state, FoundC* found) except -1:
        return 0 if found is NULL else ring_show(&(<TimeLengthStateC*> state).buffered, found)

    cdef void close_state(self, void* address) noexcept:
        cdef TimeLengthStateC* state = <TimeLengthStateC*> address
        ring_clear(&state.buffered, self.pool)
        PyMem_Free(state.timers)
        state.timers = NULL
        state.n_timers = 0

    cdef int write_state(self, void* address, SnapshotWriter writer) except -1:
        cdef TimeLengthStateC* state = <TimeLengthStateC*> address
        cdef Py_ssize_t i
        ring_write(&state.buffered, writer, self.pool)
        writer.put_i64(WITH_TIMERS)
        writer.put_i64(state.n_timers)
        for i in range(state.n_timers):
            writer.put_due(timer_at(state, i))
        return writer.put_due(state.due)

    cdef int read_state(self, void* address, SnapshotReader reader) except -1:
        cdef TimeLengthStateC* state = <TimeLengthStateC*> address
        cdef Py_ssize_t i, n
        cdef int64_t when
        ring_read(&state.buffered, reader, self.pool)
        state.due = reader.get_due()
        if state.due == WITH_TIMERS:
            n = <Py_ssize_t> reader.get_i64()
            if n < state.buffered.size:
                raise ValueError("snapshot is damaged: a timeLength window has more events than timers")
            for i in range(n):
                when = reader.get_due()
                if i > 0 and when < timer_at(state, i - 1):
                    raise ValueError("snapshot is damaged: the timers of a timeLength window are out of order")
                add_timer(state, when)
            for i in range(state.buffered.size):
                # A timer that fires before its event expires would be scheduled again and again.
                if timer_at(state, n - state.buffered.size + i) < ring_at(&state.buffered, i).timestamp + self.duration:
                    raise ValueError("snapshot is damaged: a timer of a timeLength window is earlier than its event expires")
            state.due = reader.get_due()
        else:
            # Format of snapshots without timers.
            for i in range(state.buffered.size):
                when = ring_at(&state.buffered, i).timestamp + self.duration
                add_timer(state, when if i == 0 else max(when, timer_at(state, i - 1)))
        if state.due:
            # Scheduled even if early: it decides which key of a partition comes first.
            self.app.schedule(self, state.due, self.app.frame.partition)
        return self.plan_expiry(state, now_ms(&self.app.frame))


# --- ``delay(t)``: every event is passed on t milliseconds later.

cdef struct DelayStateC:
    EventRingC buffered
    int64_t due                    # due time of the pending timer, ms; 0: none


@cython.final
@cython.no_gc_clear
cdef class DelayWindow(Window):
    """Holds each event until it is ``duration_ms`` old, then passes it on as CURRENT, stamped with the clock.

    Nothing expires. Events leave in the order of arrival: a late one leaves no earlier than those before it.
    """

    cdef int64_t duration

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t duration_ms):
        Window.__init__(self, app, pool, True)
        self.duration = duration_ms
        self.setup(sizeof(DelayStateC))

    def __dealloc__(self):
        self.close_all()

    cdef int emit_delayed(self, EventC* event, int64_t now) except -1:
        """Pass on an event that is no longer buffered. Consumes its reference."""
        event = own_event(self.pool, event)
        event.timestamp = now
        try:
            return self.next.process(event)
        finally:
            release(self.pool, event)

    cdef int emit_due(self, DelayStateC* state, int64_t now) except -1:
        while state.buffered.size and ring_first(&state.buffered).timestamp + self.duration <= now:
            self.emit_delayed(ring_pop(&state.buffered), now)
        return 0

    cdef int plan_release(self, DelayStateC* state) except -1:
        """Schedule the timer of the oldest event, unless one is pending."""
        if state.buffered.size and state.due == 0:
            state.due = ring_first(&state.buffered).timestamp + self.duration
            self.app.schedule(self, state.due, self.app.frame.partition)
        return 0

    cdef int process(self, EventC* event) except -1:
        cdef DelayStateC* state = <DelayStateC*> state_of(self)
        self.emit_due(state, now_ms(&self.app.frame))
        retain(self.pool, event)
        ring_push(&state.buffered, event)
        return self.plan_release(state)

    cdef int on_timer(self, int64_t when) except -1:
        cdef DelayStateC* state
        if self.app.frame.partition >= self.capacity:
            return 0
        state = <DelayStateC*> state_of(self)
        if state is NULL or state.due != when:
            return 0  # of a removed key, whose partition id may be reused
        state.due = 0
        try:
            self.emit_due(state, now_ms(&self.app.frame))
        finally:
            self.plan_release(state)
        return self.next.finish()

    cdef int collect_events(self, void* state, FoundC* found) except -1:
        return 0 if found is NULL else ring_show(&(<DelayStateC*> state).buffered, found)

    cdef void close_state(self, void* state) noexcept:
        ring_clear(&(<DelayStateC*> state).buffered, self.pool)

    cdef int write_state(self, void* state, SnapshotWriter writer) except -1:
        return ring_write(&(<DelayStateC*> state).buffered, writer, self.pool)

    cdef int read_state(self, void* state, SnapshotReader reader) except -1:
        ring_read(&(<DelayStateC*> state).buffered, reader, self.pool)
        return self.plan_release(<DelayStateC*> state)
