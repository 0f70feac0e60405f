"""Windows that emit whole batches: ``lengthBatch``, ``timeBatch``, ``batch``.

A release is one chunk: the previous batch as EXPIRED (if needed), RESET, the batch as CURRENT. The streaming variants
pass current events at once; their release is the expired batch and RESET.

Reentrance: a function of the selection may send into the same window during a release. These events are collected. What
becomes full or due meanwhile is released after the current batch.

Joins find a whole batch as soon as its first event is emitted as CURRENT, as in Siddhi. Therefore a function that runs
during a release, or a query that feeds a piece of ``batch(n)`` back, also finds events that are not emitted yet.
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from siddhi._core.record.event cimport EventC, EventPool, release, retain
from siddhi._core.record.frame cimport now_ms
from siddhi._core.runtime.context cimport AppContext, next_tick, restored_tick
from siddhi._core.runtime.lookup cimport FoundC
from siddhi._core.runtime.ring cimport (
    EventRingC, ring_at, ring_clear, ring_first, ring_pop, ring_push, ring_read, ring_show, ring_write,
)
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.window.base cimport Window, state_of

cdef struct BatchStateC:
    EventRingC current                 # being collected
    EventRingC previous                # last batch released, if expired events are needed
    int64_t boundary               # timeBatch: end of the period, ms
    bint started                   # timeBatch: `boundary` is set
    bint armed                     # timeBatch: a timer is pending; never while the window is empty
    bint releasing                 # a batch is being emitted
    bint overdue                   # the timer fired during the release
    bint gaps                      # an accumulated batch may be emitted in part only, after an error
    Py_ssize_t searched            # number of events to expire next that a join has searched


cdef class BatchWindow(Window):
    """Base class of the batch windows.

    Args:
        keeps_expired: the previous batch is needed as EXPIRED events, or by joins and on-demand queries.
        streams_current: current events pass at once.
    """

    cdef bint keeps_expired
    cdef bint streams_current
    cdef bint resets_now               # RESET has the time of the clock, not that of the batch's first event
    cdef bint accumulates              # released batches stay searchable

    def __init__(self, AppContext app not None, EventPool pool not None, bint keeps_expired, bint streams_current,
                 bint stamps=True):
        Window.__init__(self, app, pool, stamps)
        self.keeps_expired = keeps_expired
        self.streams_current = streams_current
        self.setup(sizeof(BatchStateC))

    def accumulate(self):
        """Expire nothing: all released batches stay searchable. Call it before the first event."""
        self.accumulates = True

    cdef int expire_all(self, BatchStateC* state, EventRingC* events) except -1:
        """Expire events with the time of the clock, or with their own time if a join has searched them."""
        cdef EventC* event
        cdef Py_ssize_t searched = state.searched
        cdef int64_t now
        state.searched = 0
        if events.size:
            now = now_ms(&self.app.frame)
            while events.size:
                event = ring_pop(events)
                self.expire(event, event.timestamp if searched > 0 else now)
                searched -= 1
        return 0

    cdef int expire_previous(self, BatchStateC* state) except -1:
        return 0 if self.accumulates else self.expire_all(state, &state.previous)

    cdef int release_batch(self, BatchStateC* state) except -1:
        """Emit one chunk: previous batch, RESET, current batch. The current batch becomes the previous one."""
        cdef EventC* event
        state.releasing = True
        try:
            try:
                self.pass_batch(state)
            finally:
                self.end_release(state)
            # Events are released after finish(): the selection may read them until then.
            self.next.finish()
        except MemoryError:
            # The batch is lost. Keeping it where expired events are not needed would only prolong the lack of memory.
            self.next.abort()
            if not self.keeps_expired:
                ring_clear(&state.previous, self.pool)
            raise
        if not self.keeps_expired:
            while state.previous.size:
                event = ring_pop(&state.previous)
                release(self.pool, event)
        return 0

    cdef int end_release(self, BatchStateC* state) except -1:
        state.releasing = False
        if state.overdue:
            state.overdue = False
            self.app.schedule(self, state.boundary, self.app.frame.partition)
        return 0

    cdef int pass_batch(self, BatchStateC* state) except -1:
        """Emit a batch without ending the chunk."""
        cdef Py_ssize_t i
        self.expire_previous(state)
        if state.current.size == 0:
            return 0
        self.next.reset(now_ms(&self.app.frame) if self.resets_now else ring_first(&state.current).timestamp)
        i = self.merge_sent(state)
        while i < state.previous.size:
            self.next.process(ring_at(&state.previous, i))
            i += 1
        return 0

    cdef Py_ssize_t merge_sent(self, BatchStateC* state) except -1:
        """Make the batch the previous one, before anything downstream runs. Return its start index there."""
        cdef EventRingC batch
        cdef Py_ssize_t start = state.previous.size
        if self.accumulates:
            if start > 0 and ring_at(&state.previous, start - 1).group == 0:
                state.gaps = True
            while state.current.size:
                ring_push(&state.previous, ring_pop(&state.current))
            return start
        batch = state.current
        state.current = state.previous
        state.previous = batch
        return 0

    cdef int end_period(self, BatchStateC* state) except -1:
        """End a period of a streaming variant: expire the events that passed in it."""
        if self.keeps_expired:
            return self.expire_all(state, &state.current)
        while state.current.size:
            release(self.pool, ring_pop(&state.current))
        return 0

    cdef int collect(self, BatchStateC* state, EventC* event) except -1:
        retain(self.pool, event)
        return ring_push(&state.current, event)

    cdef int collect_events(self, void* state, FoundC* found) except -1:
        # The last batch released; in streaming variants the events of the current period.
        cdef BatchStateC* batch = <BatchStateC*> state
        cdef EventRingC* events = &batch.current if self.streams_current else &batch.previous
        if found is not NULL:
            return ring_show(events, found)
        batch.searched = events.size
        return self.has_unsent(batch, events)

    cdef bint has_unsent(self, BatchStateC* state, EventRingC* events) noexcept:
        """Return whether some events are not emitted yet; emitted ones have a number from the index of a join."""
        if state.gaps:
            state.gaps = False
            return True
        return events.size > 0 and ring_at(events, events.size - 1).group == 0

    cdef void close_state(self, void* state) noexcept:
        ring_clear(&(<BatchStateC*> state).current, self.pool)
        ring_clear(&(<BatchStateC*> state).previous, self.pool)

    cdef int write_state(self, void* state, SnapshotWriter writer) except -1:
        cdef BatchStateC* batch = <BatchStateC*> state
        ring_write(&batch.current, writer, self.pool)
        ring_write(&batch.previous, writer, self.pool)
        writer.put_bool(batch.started)
        writer.put_due(batch.boundary)
        writer.put_i64(batch.searched)
        return 0

    cdef int read_state(self, void* state, SnapshotReader reader) except -1:
        cdef BatchStateC* batch = <BatchStateC*> state
        ring_read(&batch.current, reader, self.pool)
        ring_read(&batch.previous, reader, self.pool)
        batch.started = reader.get_bool()
        batch.boundary = reader.get_due()
        batch.searched = <Py_ssize_t> reader.get_i64()
        return 0


@cython.final
@cython.no_gc_clear
cdef class LengthBatchWindow(BatchWindow):
    """``lengthBatch(n [, stream.current.event])``: n events make a batch."""

    cdef Py_ssize_t length

    def __init__(self, AppContext app not None, EventPool pool not None, Py_ssize_t length, bint keeps_expired,
                 bint streams_current=False, bint stamps=True):
        BatchWindow.__init__(self, app, pool, keeps_expired, streams_current, stamps)
        self.length = length
        self.resets_now = True

    def __dealloc__(self):
        self.close_all()

    cdef int process(self, EventC* event) except -1:
        cdef BatchStateC* state = <BatchStateC*> state_of(self)
        if self.length <= 0:
            self.next.process(event)
            retain(self.pool, event)
            self.expire(event, now_ms(&self.app.frame))
            return self.next.reset(event.timestamp)
        if self.streams_current:
            if state.current.size >= self.length:
                # The next event ends the period: expired batch, RESET and that event are one chunk.
                self.end_period(state)
                self.next.reset(event.timestamp)
            self.collect(state, event)
            # Every event is a chunk of its own, even if several arrived in one.
            return self.next.process_one(event)
        self.collect(state, event)
        while state.current.size >= self.length and not state.releasing:
            self.release_first(state)
        return 0

    cdef int release_first(self, BatchStateC* state) except -1:
        """Release one batch. More events are left if the previous release received some."""
        cdef EventRingC batch, remaining
        memset(&batch, 0, sizeof(EventRingC))
        memset(&remaining, 0, sizeof(EventRingC))
        if state.current.size > self.length:
            while batch.size < self.length:
                ring_push(&batch, ring_pop(&state.current))
            remaining = state.current
            state.current = batch
        try:
            return self.release_batch(state)
        finally:
            while remaining.size:
                ring_push(&state.current, ring_pop(&remaining))
            ring_clear(&remaining, self.pool)

    cdef int process_one(self, EventC* event) except -1:
        # A batch window ends its chunks itself: there is nothing to finish after one event.
        return self.process(event) if self.length > 0 else Window.process_one(self, event)


@cython.final
@cython.no_gc_clear
cdef class TimeBatchWindow(BatchWindow):
    """``timeBatch(t [, start] [, stream.current.event])``: periods of t milliseconds of the app's clock.

    The first period ends t after the first event, or at the next boundary aligned to ``start_ms``. A timer fires at
    every boundary while the window holds events: a batch expires one boundary after its release. The boundary is part
    of the state of a partition key and of snapshots.
    """

    cdef int64_t duration
    cdef int64_t start
    cdef bint aligned

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t duration_ms, start_ms,
                 bint keeps_expired, bint streams_current=False, bint stamps=True):
        BatchWindow.__init__(self, app, pool, keeps_expired, streams_current, stamps)
        self.duration = duration_ms
        self.aligned = start_ms is not None
        self.start = start_ms if start_ms is not None else 0

    def __dealloc__(self):
        self.close_all()

    cdef int process(self, EventC* event) except -1:
        cdef BatchStateC* state = <BatchStateC*> state_of(self)
        cdef int64_t now
        if not state.started:
            now = now_ms(&self.app.frame)
            state.started = True
            if self.aligned:
                state.boundary = now + self.duration - (now - self.start) % self.duration
            else:
                state.boundary = now + self.duration
            self.arm(state)
        elif not state.armed:
            state.boundary = next_tick(self.app, self, state.boundary, self.duration)
            self.arm(state)
        self.collect(state, event)
        if self.streams_current:
            return self.next.process(event)
        return 0

    cdef int arm(self, BatchStateC* state) except -1:
        state.armed = True
        return self.app.schedule(self, state.boundary, self.app.frame.partition)

    cdef int on_timer(self, int64_t when) except -1:
        cdef BatchStateC* state
        cdef int64_t timestamp
        if self.app.frame.partition >= self.capacity:
            return 0
        state = <BatchStateC*> state_of(self)
        if state is NULL or state.boundary != when:
            return 0  # of a removed key, whose partition id may be reused
        if state.releasing:
            state.overdue = True
            return 0
        state.boundary = when + self.duration
        if self.is_idle(self.app.frame.partition):
            state.armed = False
            return 0
        self.arm(state)
        if not self.streams_current:
            return self.release_batch(state)
        if state.current.size == 0:
            return 0
        timestamp = ring_first(&state.current).timestamp
        self.end_period(state)
        self.next.reset(timestamp)
        return self.next.finish()

    cdef bint is_idle(self, uint32_t partition) noexcept:
        return (partition >= self.capacity or self.states[partition] is NULL
                or self.holds_nothing(<BatchStateC*> self.states[partition]))

    cdef bint holds_nothing(self, BatchStateC* state) noexcept:
        return state.current.size == 0 and (state.previous.size == 0 or self.accumulates or not self.keeps_expired)

    cdef int read_state(self, void* state, SnapshotReader reader) except -1:
        cdef BatchStateC* batch = <BatchStateC*> state
        BatchWindow.read_state(self, state, reader)
        if batch.started:
            batch.boundary = restored_tick(self.app, batch.boundary, self.duration)
            if not self.holds_nothing(batch):
                return self.arm(batch)
        return 0


@cython.final
@cython.no_gc_clear
cdef class ChunkBatchWindow(BatchWindow):
    """``batch([n])``: each arriving chunk is a batch. With n it is cut into pieces of n events.

    Each piece is emitted as a chunk of its own; the expired batch goes with the first piece. Joins find the whole
    batch, whichever piece is being emitted. RESET precedes every piece but the very first, with the time of the first
    event of the piece before it.

    Args:
        resets: RESET also precedes a chunk when expired events are not kept. Not so inside a partition: there the
            aggregates of a key continue from chunk to chunk, as recorded of Siddhi.
    """

    cdef Py_ssize_t length
    cdef bint resets

    def __init__(self, AppContext app not None, EventPool pool not None, Py_ssize_t length, bint keeps_expired,
                 bint stamps=True, bint resets=True):
        BatchWindow.__init__(self, app, pool, keeps_expired, False, stamps)
        self.length = length
        self.resets = resets

    def __dealloc__(self):
        self.close_all()

    cdef int process(self, EventC* event) except -1:
        return self.collect(<BatchStateC*> state_of(self), event)

    cdef int finish(self) except -1:
        cdef BatchStateC* state = <BatchStateC*> state_of(self)
        cdef Py_ssize_t n = state.current.size
        while n and not state.releasing:
            self.release_chunk(state, self.length if 0 < self.length < n else n)
            n = state.current.size
        return 0

    cdef int release_chunk(self, BatchStateC* state, Py_ssize_t length) except -1:
        cdef EventC* event
        cdef Py_ssize_t i, start, before = state.previous.size
        cdef bint announced = before > 0 if self.keeps_expired else self.resets
        cdef int64_t announced_at = ring_first(&state.current).timestamp
        state.releasing = True
        try:
            if before > 0 and not self.accumulates:
                i = (before - 1) // self.length * self.length if self.length > 0 else 0
                announced_at = ring_at(&state.previous, i).timestamp
            self.expire_previous(state)
            # The whole chunk becomes the previous batch; only its emission is in pieces.
            start = self.merge_sent(state)
            i = start
            while i < state.previous.size:
                event = ring_at(&state.previous, i)
                if (i - start) % length == 0:
                    if i > start:
                        self.next.finish()
                    if announced:
                        self.next.reset(announced_at)
                    announced = True
                    announced_at = event.timestamp
                self.next.process(event)
                i += 1
        finally:
            self.end_release(state)
        # Events are released after finish(): the selection may read them until then.
        self.next.finish()
        if not self.keeps_expired:
            while state.previous.size:
                release(self.pool, ring_pop(&state.previous))
        return 0
