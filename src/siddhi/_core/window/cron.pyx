"""``cron('...')``: batches emitted at the times of a cron expression."""

cimport cython
from libc.stdint cimport int64_t

from siddhi._core.record.event cimport EventC, EventPool, release, retain
from siddhi._core.record.frame cimport now_ms
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.lookup cimport FoundC
from siddhi._core.runtime.ring cimport (
    EventRingC, ring_at, ring_clear, ring_pop, ring_push, ring_read, ring_show, ring_write,
)
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.window.base cimport Window, state_of

cdef struct CronStateC:
    EventRingC current                 # collected since the last release
    EventRingC previous                # last batch released
    int64_t due                    # tick of the next release, ms; set while events wait


@cython.final
@cython.no_gc_clear
cdef class CronWindow(Window):
    """Emits a chunk at each tick: the previous batch as EXPIRED, then the collected events as CURRENT, without RESET.

    A tick without collected events has no effect, so a timer is pending only while events wait. Expired events are sent
    regardless of the output of the query: they subtract from aggregates what the previous batch added.

    Args:
        next_tick: ``fn(ms)``, returns the first tick after a time; None if there is none, then events are not kept.
    """

    cdef object next_tick

    def __init__(self, AppContext app not None, EventPool pool not None, next_tick not None, bint stamps=True):
        Window.__init__(self, app, pool, stamps)
        self.next_tick = next_tick
        self.setup(sizeof(CronStateC))

    def __dealloc__(self):
        self.close_all()

    cdef int process(self, EventC* event) except -1:
        cdef CronStateC* state = <CronStateC*> state_of(self)
        if state.current.size == 0:
            tick = self.next_tick(now_ms(&self.app.frame))
            if tick is None:
                return 0
            state.due = tick
            self.app.schedule(self, state.due, self.app.frame.partition)
        retain(self.pool, event)
        return ring_push(&state.current, event)

    cdef int on_timer(self, int64_t when) except -1:
        cdef CronStateC* state
        cdef EventRingC batch
        cdef int64_t now = self.expiry_time()
        cdef EventC* event
        cdef Py_ssize_t i = 0
        if self.app.frame.partition >= self.capacity:
            return 0
        state = <CronStateC*> state_of(self)
        if state is NULL or state.due != when:
            return 0  # of a removed key, whose partition id may be reused
        state.due = 0
        while state.previous.size:
            self.expire(ring_pop(&state.previous), now)
        batch = state.current
        state.current = state.previous
        state.previous = batch
        # A function of the selection may advance the clock and end the next batch during this loop.
        while i < state.previous.size:
            event = ring_at(&state.previous, i)
            retain(self.pool, event)
            try:
                self.next.process(event)
            finally:
                release(self.pool, event)
            i += 1
        return self.next.finish()

    cdef int collect_events(self, void* state, FoundC* found) except -1:
        return 0 if found is NULL else ring_show(&(<CronStateC*> state).previous, found)

    cdef void close_state(self, void* state) noexcept:
        ring_clear(&(<CronStateC*> state).current, self.pool)
        ring_clear(&(<CronStateC*> state).previous, self.pool)

    cdef int write_state(self, void* state, SnapshotWriter writer) except -1:
        cdef CronStateC* cron = <CronStateC*> state
        ring_write(&cron.current, writer, self.pool)
        ring_write(&cron.previous, writer, self.pool)
        return writer.put_due(cron.due)

    cdef int read_state(self, void* state, SnapshotReader reader) except -1:
        cdef CronStateC* cron = <CronStateC*> state
        ring_read(&cron.current, reader, self.pool)
        ring_read(&cron.previous, reader, self.pool)
        cron.due = reader.get_due()
        if cron.current.size:
            self.app.schedule(self, cron.due, self.app.frame.partition)
        return 0
