"""``session(gap [, key [, latency]])``: per key, events that follow one another within a gap."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

import logging

from siddhi._core.index.hash_index cimport KeyMap
from siddhi._core.record.event cimport INT, STRING, CellC, EventC, EventPool, release, retain
from siddhi._core.record.frame cimport now_ms
from siddhi._core.record.instant cimport later
from siddhi._core.record.prefetch cimport prefetch_line
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.lookup cimport FoundC
from siddhi._core.runtime.ring cimport (
    EventRingC, ring_at, ring_clear, ring_grow, ring_pop, ring_push, ring_read, ring_show, ring_write,
)
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.window.base cimport Window, state_of

_log = logging.getLogger("siddhi")

cdef enum:
    LOOKAHEAD = 8                      # events to prefetch ahead

cdef struct SessionSpanC:                 # one session; empty if it holds no events
    EventRingC buffered
    int64_t start                  # time of the earliest event, ms
    int64_t end                    # time of the latest event + gap

cdef struct SessionC:              # sessions of a key
    SessionSpanC current
    SessionSpanC previous                 # ended, waits for late events
    int64_t due                    # time of the next check, ms; 0: none
    uint64_t order                 # of its entry in the wake-up heap
    uint64_t chunk                 # number of the chunk of its latest event

cdef struct WakeC:
    int64_t due
    uint64_t order                 # of scheduling; breaks ties of `due`
    uint32_t key_id                  # of the key; stale if the session refers to another entry

cdef struct SessionStateC:
    PyObject* keys                 # KeyMap, owned
    SessionC* sessions             # [capacity] by key id
    Py_ssize_t capacity
    WakeC* wakes                   # [wake_capacity] binary min-heap by due time
    Py_ssize_t n_wakes
    Py_ssize_t wake_capacity
    uint64_t wake_order
    int64_t due                    # due time of the pending timer, ms
    bint waiting                   # a timer is pending


@cython.final
@cython.no_gc_clear
cdef class SessionWindow(Window):
    """Passes every event at once; a session expires as a whole, in order, with the timestamps of its events.

    A session ends ``gap`` after its latest event. With a latency it then waits that long as the key's previous session
    before it expires, and late events may still join it. Sessions that come to overlap are merged. An event that is too
    late for all sessions of its key is dropped and logged. Timers check whether a session has ended; an extended
    session is checked again later. An event after the end of its key's session, and before the timer, ends the session.
    If both arrive in one chunk and there is no latency, the event passes without a session, as recorded of Siddhi.

    Args:
        gap_ms: gap.
        position: index of the string attribute that is the key, in the window's records; None: all events have one key.
        latency_ms: latency, at most the gap.
    """

    cdef int64_t gap
    cdef int64_t latency
    cdef int position
    cdef uint64_t chunk            # number of the current chunk

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t gap_ms, position,
                 int64_t latency_ms=0):
        Window.__init__(self, app, pool, True)
        self.gap = gap_ms
        self.latency = latency_ms
        self.position = -1 if position is None else position
        self.chunk = 1                 # restored sessions have 0: no chunk
        self.setup(sizeof(SessionStateC))

    def __dealloc__(self):
        self.close_all()

    cdef int open_state(self, void* address) except -1:
        cdef SessionStateC* state = <SessionStateC*> address
        keys = KeyMap([INT if self.position < 0 else STRING])
        Py_INCREF(keys)
        state.keys = <PyObject*> keys
        return 0

    cdef int collect_events(self, void* address, FoundC* found) except -1:
        # Key by key: first the session that waits for late events, then the current one.
        cdef SessionStateC* state = <SessionStateC*> address
        cdef Py_ssize_t i
        for i in range(state.capacity):
            ring_show(&state.sessions[i].previous.buffered, found)
            ring_show(&state.sessions[i].current.buffered, found)
        return 0

    cdef void close_state(self, void* address) noexcept:
        cdef SessionStateC* state = <SessionStateC*> address
        cdef Py_ssize_t i
        for i in range(state.capacity):
            ring_clear(&state.sessions[i].current.buffered, self.pool)
            ring_clear(&state.sessions[i].previous.buffered, self.pool)
        PyMem_Free(state.sessions)
        PyMem_Free(state.wakes)
        Py_XDECREF(state.keys)
        memset(state, 0, sizeof(SessionStateC))

    # --- arrivals

    cdef int process(self, EventC* event) except -1:
        return self.next.process(event) if self.admit(event) else 0

    cdef int process_one(self, EventC* event) except -1:
        if not self.admit(event):
            return self.finish()
        self.chunk += 1
        return self.next.process_one(event)

    cdef bint admit(self, EventC* event) except -1:
        """Return whether the event passes. It is buffered then, unless it shares a chunk with the event that ended its
        session."""
        cdef SessionStateC* state = <SessionStateC*> state_of(self)
        cdef uint32_t key_id = self.id_of(state, event)
        cdef bint joined
        retain(self.pool, event)
        joined = self.join(&state.sessions[key_id], event)
        self.postpone(state, key_id)
        if not joined:
            _log.info("app '%s': an event of %d ms came too late for its session and was dropped", self.app.name,
                      event.timestamp)
        return joined

    cdef int finish(self) except -1:
        self.chunk += 1
        return self.next.finish()

    cdef uint32_t id_of(self, SessionStateC* state, const EventC* event) except? 0xfffffffe:
        cdef CellC key
        cdef uint64_t nulls = 0
        cdef uint32_t key_id
        cdef bint is_new = False
        key.bits = 0
        if self.position >= 0:
            if event.body[self.position >> 6] & ((<uint64_t> 1) << (self.position & 63)):
                nulls = 1
            else:
                key.bits = event.body[self.pool.layout.words + self.position]
        key_id = (<KeyMap> state.keys).insert(&key, nulls, &is_new)
        if is_new:
            try:
                self.make_room(state, key_id)
            except:
                (<KeyMap> state.keys).remove(key_id)
                raise
        return key_id

    cdef int make_room(self, SessionStateC* state, uint32_t key_id) except -1:
        cdef SessionC* sessions
        cdef Py_ssize_t capacity
        if key_id >= state.capacity:
            capacity = max(4, 2 * state.capacity, <Py_ssize_t> key_id + 1)
            sessions = <SessionC*> PyMem_Realloc(state.sessions, capacity * sizeof(SessionC))
            if sessions is NULL:
                raise MemoryError
            memset(sessions + state.capacity, 0, (capacity - state.capacity) * sizeof(SessionC))
            state.sessions = sessions
            state.capacity = capacity
        return 0

    cdef bint join(self, SessionC* session, EventC* event) except -1:
        """Add an event to its session. Consumes the reference. Return False if the event is too late and was
        released."""
        cdef SessionSpanC* current = &session.current
        cdef SessionSpanC* previous = &session.previous
        cdef int64_t time = event.timestamp
        if current.buffered.size and time > current.end:
            if self.latency == 0 and session.chunk == self.chunk:
                release(self.pool, event)
                return True
            self.end_current(session)
        session.chunk = self.chunk
        if current.buffered.size == 0:
            if previous.buffered.size and time <= previous.end:
                # The ended session becomes the current one again, unless the event is too late even for it.
                if time >= previous.start - self.gap:
                    swap(current, previous)
                    return self.extend(current, event)
                return self.refuse(event)
            current.start = time
            current.end = time + self.gap
            ring_push(&current.buffered, event)
            return True
        if time >= current.start - self.gap:
            self.extend(current, event)
            if previous.buffered.size and previous.end >= current.start:
                self.merge(previous, current)
            return True
        if previous.buffered.size and previous.start - self.gap <= time <= previous.end:
            self.extend(previous, event)
            if previous.end >= current.start:
                self.merge(previous, current)
            return True
        return self.refuse(event)

    cdef bint refuse(self, EventC* event) noexcept:
        release(self.pool, event)
        return False

    cdef bint extend(self, SessionSpanC* span, EventC* event) except -1:
        """Add an event; one before the start becomes the first."""
        if event.timestamp < span.start:
            span.start = event.timestamp
            if span.buffered.size > span.buffered.mask:
                ring_grow(&span.buffered)
            span.buffered.head = (span.buffered.head - 1) & span.buffered.mask
            span.buffered.events[span.buffered.head] = event
            span.buffered.size += 1
        else:
            ring_push(&span.buffered, event)
        span.end = max(span.end, event.timestamp + self.gap)
        return True

    cdef int merge(self, SessionSpanC* previous, SessionSpanC* current) except -1:
        """Append the current session to the previous one; the result is the current one."""
        while current.buffered.size:
            ring_push(&previous.buffered, ring_pop(&current.buffered))
        previous.start = min(previous.start, current.start)
        previous.end = max(previous.end, current.end)
        swap(previous, current)
        return 0

    # --- session ends

    cdef int expire_span(self, SessionSpanC* span) except -1:
        cdef EventC* event
        while span.buffered.size:
            # Events of other sessions lie between those of this one.
            prefetch_line(ring_at(&span.buffered, min(LOOKAHEAD, span.buffered.size - 1)))
            event = ring_pop(&span.buffered)
            self.expire(event, event.timestamp)
        ring_clear(&span.buffered, self.pool)
        return 0

    cdef int end_current(self, SessionC* session) except -1:
        """End the current session: it expires, or waits as the previous one."""
        if self.latency == 0:
            return self.expire_span(&session.current)
        self.expire_span(&session.previous)
        swap(&session.current, &session.previous)
        return 0

    cdef int look_at(self, SessionStateC* state, uint32_t key_id, int64_t when) except -1:
        """Expire the sessions of a key that are over at the time of a timer."""
        cdef SessionC* session = &state.sessions[key_id]
        if session.current.buffered.size and session.current.end <= when:
            self.end_current(session)
        if session.previous.buffered.size and later(session.previous.end, self.latency) <= when:
            self.expire_span(&session.previous)
        return self.postpone(state, key_id)

    cdef int postpone(self, SessionStateC* state, uint32_t key_id) except -1:
        """Schedule the next check of a key, or remove a key without sessions."""
        cdef SessionC* session = &state.sessions[key_id]
        cdef int64_t due
        if session.current.buffered.size:
            due = session.current.end
            if session.previous.buffered.size:
                due = min(due, later(session.previous.end, self.latency))
        elif session.previous.buffered.size:
            due = later(session.previous.end, self.latency)
        else:
            memset(session, 0, sizeof(SessionC))
            return (<KeyMap> state.keys).remove(key_id)
        # An entry that comes up too early is scheduled again.
        if session.due == 0 or due < session.due:
            state.wake_order += 1
            session.due = due
            session.order = state.wake_order
            push_wake(state, due, session.order, key_id)
            return self.plan_wake(state)
        return 0

    cdef int plan_wake(self, SessionStateC* state) except -1:
        """Schedule the timer of the earliest entry, unless one that early is pending."""
        if state.n_wakes and (not state.waiting or state.wakes[0].due < state.due):
            state.due = state.wakes[0].due
            state.waiting = True
            return self.app.schedule(self, state.due, self.app.frame.partition)
        return 0

    cdef int on_timer(self, int64_t when) except -1:
        cdef SessionStateC* state
        cdef WakeC wake
        if self.app.frame.partition >= self.capacity:
            return 0
        state = <SessionStateC*> state_of(self)
        if state is NULL or not state.waiting or state.due != when:
            return 0  # superseded by an earlier one, or of a removed key, whose partition id may be reused
        while True:
            state.waiting = False
            while state.n_wakes and state.wakes[0].due <= when:
                wake = pop_wake(state)
                if (<KeyMap> state.keys).is_live(wake.key_id) and state.sessions[wake.key_id].order == wake.order:
                    state.sessions[wake.key_id].due = 0
                    # The due time, not the clock: after a jump of the clock, sessions end in the order of their ends.
                    self.look_at(state, wake.key_id, when)
            self.plan_wake(state)
            self.next.finish()
            # Process what else is due in this partition at once: its keys follow one another, as recorded of Siddhi.
            state = <SessionStateC*> state_of(self)
            if state is NULL or not state.waiting or state.due > now_ms(&self.app.frame):
                return 0
            when = state.due

    # --- snapshots

    cdef int write_state(self, void* address, SnapshotWriter writer) except -1:
        cdef SessionStateC* state = <SessionStateC*> address
        cdef KeyMap keys = <KeyMap> state.keys
        cdef uint32_t key_id
        keys.write(writer)
        writer.put_i64(<int64_t> state.wake_order)
        for key_id in range(keys.id_bound()):
            if keys.is_live(key_id):
                self.write_span(&state.sessions[key_id].current, writer)
                self.write_span(&state.sessions[key_id].previous, writer)
                writer.put_due(state.sessions[key_id].due)
                writer.put_i64(<int64_t> state.sessions[key_id].order)
        return 0

    cdef int write_span(self, SessionSpanC* span, SnapshotWriter writer) except -1:
        ring_write(&span.buffered, writer, self.pool)
        writer.put_time(span.start)
        return writer.put_due(span.end)

    cdef int read_state(self, void* address, SnapshotReader reader) except -1:
        cdef SessionStateC* state = <SessionStateC*> address
        cdef KeyMap keys = <KeyMap> state.keys
        cdef uint32_t key_id
        keys.read(reader)
        state.wake_order = <uint64_t> reader.get_i64()
        for key_id in range(keys.id_bound()):
            if keys.is_live(key_id):
                self.make_room(state, key_id)
                self.read_span(&state.sessions[key_id].current, reader)
                self.read_span(&state.sessions[key_id].previous, reader)
                state.sessions[key_id].due = reader.get_due()
                state.sessions[key_id].order = <uint64_t> reader.get_i64()
                push_wake(state, state.sessions[key_id].due, state.sessions[key_id].order, key_id)
        return self.plan_wake(state)

    cdef int read_span(self, SessionSpanC* span, SnapshotReader reader) except -1:
        ring_read(&span.buffered, reader, self.pool)
        span.start = reader.get_time()
        span.end = reader.get_due()
        return 0


cdef inline void swap(SessionSpanC* a, SessionSpanC* b) noexcept:
    cdef SessionSpanC both = a[0]
    a[0] = b[0]
    b[0] = both


cdef inline bint earlier(const WakeC* a, const WakeC* b) noexcept:
    return a.due < b.due or (a.due == b.due and a.order < b.order)


cdef int push_wake(SessionStateC* state, int64_t due, uint64_t order, uint32_t key_id) except -1:
    cdef WakeC* wakes
    cdef WakeC wake
    cdef Py_ssize_t i = state.n_wakes, parent
    cdef Py_ssize_t capacity = max(4, 2 * state.wake_capacity)
    if state.n_wakes == state.wake_capacity:
        wakes = <WakeC*> PyMem_Realloc(state.wakes, capacity * sizeof(WakeC))
        if wakes is NULL:
            raise MemoryError
        state.wakes = wakes
        state.wake_capacity = capacity
    wake.due, wake.order, wake.key_id = due, order, key_id
    state.n_wakes += 1
    while i > 0:
        parent = (i - 1) // 2
        if not earlier(&wake, &state.wakes[parent]):
            break
        state.wakes[i] = state.wakes[parent]
        i = parent
    state.wakes[i] = wake
    return 0


cdef WakeC pop_wake(SessionStateC* state) noexcept:
    """Remove and return the earliest entry."""
    cdef WakeC first = state.wakes[0]
    cdef WakeC last
    cdef Py_ssize_t i = 0, child
    state.n_wakes -= 1
    last = state.wakes[state.n_wakes]
    while True:
        child = 2 * i + 1
        if child >= state.n_wakes:
            break
        if child + 1 < state.n_wakes and earlier(&state.wakes[child + 1], &state.wakes[child]):
            child += 1
        if not earlier(&state.wakes[child], &last):
            break
        state.wakes[i] = state.wakes[child]
        i = child
    state.wakes[i] = last
    return first
