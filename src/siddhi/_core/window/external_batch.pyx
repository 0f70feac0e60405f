"""``externalTimeBatch(ts, t [, start [, timeout [, replace]]])``: batches of one period each, by the time of the
events."""

cimport cython
from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.record.event cimport INT, CellC, EventC, EventPool, copy_event, release, retain
from siddhi._core.record.frame cimport now_ms
from siddhi._core.record.instant cimport is_instant, refuse_instant
from siddhi._core.runtime.context cimport AppContext, next_tick_of
from siddhi._core.runtime.lookup cimport FoundC
from siddhi._core.runtime.ring cimport (
    EventRingC, ring_at, ring_clear, ring_pop, ring_push, ring_read, ring_show, ring_write,
)
from siddhi._core.snapshot.format cimport REFUSED, SnapshotReader, SnapshotWriter
from siddhi._core.window.base cimport Window, state_of

cdef struct ExternalBatchStateC:
    EventRingC current                 # collected, not yet released
    EventRingC released                # last batch released; after a timeout a part of the open period
    int64_t start                  # origin of the periods
    int64_t end                    # end of the open period, exclusive
    int64_t latest                 # largest time seen
    int64_t due                    # end of the timeout, ms of the app's clock; 0: no timer
    bint started                   # the fields above are valid
    bint early                     # the timeout has released a part of the open period


@cython.final
@cython.no_gc_clear
cdef class ExternalTimeBatchWindow(Window):
    """Groups events into periods by an attribute.

    The first event at or after the end of the period releases the batch and opens the next period; empty periods are
    skipped. A release is one chunk: the previous batch as EXPIRED (if needed, stamped with the largest time seen),
    RESET, the batch as CURRENT. With a timeout, collected events are released when that time has passed on the app's
    clock since the last release. Events that arrive later in the same period are released together with these events
    again. Joins find what has been emitted of a batch: during a release, where a function of the selection may send,
    that is a part of it.

    Args:
        position: index of the long attribute with the time, in the window's records.
        duration_ms: t.
        start_ms: an instant the periods are aligned to; None: the time of the first event.
        start_position: index of the attribute of the first event that holds the start; None: no such attribute.
        timeout_ms: 0 for none.
        replaces: the attribute of buffered events is replaced by the end of their period.
        keeps_expired: the previous batch is needed.
    """

    cdef int64_t duration
    cdef int cell
    cdef int word
    cdef uint64_t bit
    cdef bint aligned
    cdef int64_t start
    cdef int start_position
    cdef int64_t timeout
    cdef bint replaces
    cdef bint keeps_expired

    def __init__(self, AppContext app not None, EventPool pool not None, int position, int64_t duration_ms, start_ms,
                 start_position, int64_t timeout_ms, bint replaces, bint keeps_expired, bint stamps=True):
        Window.__init__(self, app, pool, stamps)
        if duration_ms <= 0:
            raise ValueError(f"the period of externalTimeBatch must be positive, not {duration_ms} ms")
        self.duration = duration_ms
        self.cell = pool.layout.cell(position)
        self.word = pool.layout.null_word(position)
        self.bit = (<uint64_t> 1) << (position & 63)
        self.aligned = start_ms is not None
        self.start = 0 if start_ms is None else start_ms
        self.start_position = -1 if start_position is None else start_position
        self.timeout = timeout_ms
        self.replaces = replaces
        self.keeps_expired = keeps_expired
        self.setup(sizeof(ExternalBatchStateC))

    def __dealloc__(self):
        self.close_all()

    cdef int64_t end_behind(self, int64_t time, int64_t start) noexcept:
        """Return the first boundary after a time, counted from a start."""
        if time < start:
            return time + self.duration - (time - start) % self.duration
        return time + self.duration - <int64_t> ((<uint64_t> time - <uint64_t> start) % <uint64_t> self.duration)

    cdef int64_t time_of(self, const EventC* event) except? -1:
        if event.body[self.word] & self.bit:
            raise ValueError(f"'{self.pool.layout.names[self.cell - self.pool.layout.words]}', the time of "
                             "externalTimeBatch, is null")
        if not is_instant(<int64_t> event.body[self.cell]):
            refuse_instant(<int64_t> event.body[self.cell], "the time of externalTimeBatch,"
                           f" '{self.pool.layout.names[self.cell - self.pool.layout.words]}':")
        return <int64_t> event.body[self.cell]

    cdef int64_t start_in(self, const EventC* event) except? -1:
        """Return the value of the start attribute."""
        cdef int i = self.start_position
        cdef const CellC* value = <const CellC*> &event.body[self.pool.layout.words + i]
        if event.body[i >> 6] & ((<uint64_t> 1) << (i & 63)):
            raise ValueError(f"'{self.pool.layout.names[i]}', the start of externalTimeBatch, is null")
        if self.pool.layout.codes[i] == INT:
            return value.i
        if not is_instant(value.l):
            refuse_instant(value.l, f"the start of externalTimeBatch, '{self.pool.layout.names[i]}':")
        return value.l

    cdef int begin(self, ExternalBatchStateC* state, const EventC* event, int64_t time) except -1:
        if self.aligned:
            state.start = self.start
            state.end = self.end_behind(time, self.start)
        else:
            state.start = time if self.start_position < 0 else self.start_in(event)
            state.end = state.start + self.duration
        state.latest = time
        state.started = True
        return self.plan_timeout(state)

    cdef int plan_timeout(self, ExternalBatchStateC* state) except -1:
        if self.timeout > 0:
            state.due = next_tick_of(self.app, now_ms(&self.app.frame), self.timeout)
            return self.app.schedule(self, state.due, self.app.frame.partition)
        return 0

    cdef int process(self, EventC* event) except -1:
        cdef ExternalBatchStateC* state = <ExternalBatchStateC*> state_of(self)
        cdef int64_t time = self.time_of(event)
        cdef bint released = False
        if not state.started:
            self.begin(state, event, time)
        if time > state.latest:
            state.latest = time
        if time >= state.end:
            # Open the next period before anything downstream can send again.
            if state.early:
                state.early = False
                released = self.release_rest(state, self.keeps_expired)
            else:
                released = self.release_batch(state, self.keeps_expired)
            state.end = self.end_behind(state.latest, state.start)
            self.plan_timeout(state)
        self.collect(state, event)
        return self.next.finish() if released else 0

    cdef int process_one(self, EventC* event) except -1:
        # The window ends its chunks itself: there is nothing to finish after one event.
        return self.process(event)

    cdef int collect(self, ExternalBatchStateC* state, EventC* event) except -1:
        if self.replaces:
            event = copy_event(self.pool, event)
            event.body[self.cell] = <uint64_t> state.end
        else:
            retain(self.pool, event)
        return ring_push(&state.current, event)

    cdef bint release_batch(self, ExternalBatchStateC* state, bint keeps) except -1:
        """Emit previous batch, RESET and batch; the caller ends the chunk. Return whether anything was emitted."""
        cdef bint any_expired = state.released.size > 0 and self.keeps_expired
        while state.released.size:
            if self.keeps_expired:
                self.expire(ring_pop(&state.released), state.latest)
            else:
                release(self.pool, ring_pop(&state.released))
        if state.current.size == 0:
            return any_expired
        self.next.reset(state.latest)
        self.pass_on(state, keeps)
        return True

    cdef bint release_rest(self, ExternalBatchStateC* state, bint keeps) except -1:
        """Emit the part that the timeout released again, and what arrived since. Return whether anything was
        emitted."""
        cdef Py_ssize_t i = 0, n = state.released.size
        cdef EventC* event
        if state.current.size == 0:
            return False
        if self.keeps_expired:
            while i < n and i < state.released.size:
                # The event stays buffered; a copy expires, without the number by which the index of a join knows it.
                event = copy_event(self.pool, ring_at(&state.released, i))
                if ring_at(&state.released, i).group == REFUSED:
                    event.group = REFUSED
                self.expire(event, state.latest)
                i += 1
            i = 0
        self.next.reset(state.latest)
        # A function of the selection may send and end the next batch during this loop.
        while i < n and i < state.released.size:
            event = ring_at(&state.released, i)
            retain(self.pool, event)
            try:
                self.next.process(event)
            finally:
                release(self.pool, event)
            i += 1
        self.pass_on(state, keeps)
        return True

    cdef int pass_on(self, ExternalBatchStateC* state, bint keeps) except -1:
        """Emit the collected events as CURRENT."""
        cdef EventC* event
        while state.current.size:
            event = ring_pop(&state.current)
            try:
                if keeps:
                    # Before it is sent: then the index of a join adds it, and it stays buffered even if that fails.
                    ring_push(&state.released, event)
                    retain(self.pool, event)
                self.next.process(event)
            finally:
                release(self.pool, event)
        return 0

    cdef int on_timer(self, int64_t when) except -1:
        cdef ExternalBatchStateC* state
        cdef bint released
        if self.app.frame.partition >= self.capacity:
            return 0
        state = <ExternalBatchStateC*> state_of(self)
        if state is NULL or state.due != when:
            return 0  # scheduled before the last release, or of a removed key, whose partition id may be reused
        if state.early:
            released = self.release_rest(state, True)
        else:
            released = self.release_batch(state, True)
            state.early = True
        self.plan_timeout(state)
        return self.next.finish() if released else 0

    cdef bint is_idle(self, uint32_t partition) noexcept:
        cdef ExternalBatchStateC* state
        if partition >= self.capacity or self.states[partition] is NULL:
            return True
        state = <ExternalBatchStateC*> self.states[partition]
        return state.current.size == 0 and (state.early or state.released.size == 0 or not self.keeps_expired)

    cdef int collect_events(self, void* state, FoundC* found) except -1:
        return 0 if found is NULL else ring_show(&(<ExternalBatchStateC*> state).released, found)

    cdef void close_state(self, void* state) noexcept:
        ring_clear(&(<ExternalBatchStateC*> state).current, self.pool)
        ring_clear(&(<ExternalBatchStateC*> state).released, self.pool)

    cdef int write_state(self, void* address, SnapshotWriter writer) except -1:
        cdef ExternalBatchStateC* state = <ExternalBatchStateC*> address
        ring_write(&state.current, writer, self.pool)
        ring_write(&state.released, writer, self.pool)
        writer.put_bool(state.started)
        writer.put_bool(state.early)
        writer.put_time(state.start)
        writer.put_due(state.end)
        writer.put_time(state.latest)
        return writer.put_due(state.due)

    cdef int read_state(self, void* address, SnapshotReader reader) except -1:
        cdef ExternalBatchStateC* state = <ExternalBatchStateC*> address
        ring_read(&state.current, reader, self.pool)
        ring_read(&state.released, reader, self.pool)
        state.started = reader.get_bool()
        state.early = reader.get_bool()
        state.start = reader.get_time()
        state.end = reader.get_due()
        state.latest = reader.get_time()
        state.due = reader.get_due()
        if state.due:
            self.app.schedule(self, state.due, self.app.frame.partition)
        return 0
