"""Joins: selection and steps."""

cimport cython
from libc.stdint cimport int64_t

from siddhi._core.aggregate.group cimport end_chunk
from siddhi._core.query.order cimport ChunkOrder
from siddhi._core.query.ratelimit cimport Limiter
from siddhi._core.query.selector cimport EACH, LAST, LAST_PER_GROUP
from siddhi._core.record.chunk cimport chunk_append, chunk_clear, chunk_release
from siddhi._core.record.event cimport EXPIRED, EventC, release
from siddhi._core.record.frame cimport FrameC, now_ms
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.lookup cimport found_free, found_release, look_up
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter


@cython.no_gc_clear
cdef class JoinSelector(Selector):
    """Selector that receives a call at the end of the matches of one event."""

    def __dealloc__(self):
        if self.pool is not None:
            chunk_release(&self.done, self.pool)

    cdef void forget_keys(self) noexcept:
        if self.ordering is not None and (<ChunkOrder> self.ordering).noted is not None:
            (<ChunkOrder> self.ordering).noted.clear()

    cdef void abort(self) noexcept:
        Selector.abort(self)
        self.forget_keys()
        chunk_release(&self.done, self.pool)

    cdef EventC* select(self, EventC* event) except? NULL:
        cdef EventC* out = Selector.select(self, event)
        cdef ChunkOrder ordering = self.ordering
        cdef bint done = False
        if out is not NULL and ordering is not None and ordering.noted is not None:
            try:
                ordering.note(event, out)
                done = True
            finally:
                if not done:
                    release(self.pool, out)
        return out

    cdef int end_part(self) except -1:
        """Reduce the output since the last part to what the query emits of it."""
        cdef EventChunk part
        cdef Py_ssize_t i
        if self.mode == LAST:
            if self.last is not NULL:
                chunk_append(&self.out, self.last)
                self.last = NULL
        elif self.mode == LAST_PER_GROUP:
            for i in range(self.n_order):
                chunk_append(&self.out, self.last_of_group[self.order[i]])
                self.last_of_group[self.order[i]] = NULL
            self.n_order = 0
        if self.out.head is NULL:
            self.forget_keys()
            return 0
        part = self.out
        chunk_clear(&self.out)
        if self.ordering is not None or self.limit >= 0 or self.offset > 0:
            self.arrange(&part)
            self.forget_keys()
            if part.head is NULL:
                return 0
        if self.done.tail is NULL:
            self.done = part
        else:
            self.done.tail.next = part.head
            self.done.tail = part.tail
        return 0

    cdef int finish(self) except -1:
        cdef EventChunk chunk
        self.end_part()
        # Groups live until here: a group that loses its last match may get new ones from the next event of the chunk.
        if self.groups is not None:
            end_chunk(self.groups)
        if self.done.head is NULL:
            return 0
        # Detach the chunk first: later operators may send into this query again.
        chunk = self.done
        chunk_clear(&self.done)
        if self.mode == EACH and self.ordering is None and self.limit < 0 and self.offset == 0:
            return self.output.emit(&chunk, self.last_timestamp)
        return self.output.emit(&chunk, chunk.tail.timestamp)


# --- The steps of a join.

@cython.final
@cython.no_gc_clear
cdef class JoinStep(Processor):
    """Joins the events that leave one side's window with the other side.

    Args:
        app: context of the app.
        own: slot of this side's events, 0 (left) or 1 (right).
        other: the other side with the join condition; None if this side does not trigger.
        numbered: this side's events if the other side finds them through an index, else None.
        outer: events without a match are passed on with the other side null.
        joins_expired: expired events trigger, too.
        parts: the selection if it aggregates, orders or limits: the matches of one event are a part.
    """

    def __init__(self, AppContext app not None, int own, Searchable other, NumberedEvents numbered, bint outer,
                 bint joins_expired, JoinSelector parts):
        self.app = app
        self.own = own
        self.other = other
        self.numbered = numbered
        self.outer = outer
        self.joins_expired = joins_expired
        self.parts = parts

    def __dealloc__(self):
        found_free(&self.found)

    cdef int process(self, EventC* event) except -1:
        cdef EventC* slots[2]
        cdef EventC** before
        if self.numbered is not None:
            before = self.app.frame.slots
            self.app.frame.slots = slots
            try:
                self.numbered.follow(event, &self.app.frame)
            finally:
                self.app.frame.slots = before
        if self.other is None or (event.type == EXPIRED and not self.joins_expired):
            return 0
        return self.join(event)

    cdef int join(self, EventC* event) except -1:
        cdef FrameC* frame = &self.app.frame
        cdef EventC* slots[2]
        cdef EventC** before = frame.slots
        cdef Py_ssize_t i
        cdef int opposite = 1 - self.own
        # Detached while it is in use: an expression may call Python, which may send into this join again.
        cdef FoundC found = self.found
        self.found = FoundC(NULL, 0, 0)
        slots[self.own] = event
        slots[opposite] = NULL
        frame.slots = slots
        frame.type = event.type
        frame.group = frame.partition
        try:
            look_up(self.other, frame, &found)
            if found.size == 0:
                if self.outer:
                    slots[opposite] = NULL
                    self.next.process(event)
            else:
                for i in range(found.size):
                    slots[opposite] = found.events[i]
                    self.next.process(event)
        finally:
            frame.slots = before
            found_release(&found, self.other.pool)
            if self.found.events is NULL:
                self.found = found
            else:
                found_free(&found)
        if self.parts is not None:
            return self.parts.end_part()
        return 0

    cdef int prefetch(self, EventC** events, Py_ssize_t n) except -1:
        cdef EventC* slots[2]
        cdef FrameC* frame = &self.app.frame
        cdef EventC** before = frame.slots
        if self.other is None:
            return 0
        slots[1 - self.own] = NULL
        frame.slots = slots
        try:
            self.other.prefetch(frame, events, n, self.own)
        finally:
            frame.slots = before
        return 0

    cdef int reset(self, int64_t timestamp) except -1:
        return 0 if self.other is None else self.next.reset(timestamp)

    cdef int finish(self) except -1:
        return 0 if self.other is None else self.next.finish()

    cdef int drop(self, unsigned int partition) except -1:
        # Called before the window's own drop(): its events still exist.
        return 0 if self.numbered is None else self.numbered.forget(partition)

    cdef int write(self, SnapshotWriter writer) except -1:
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        if self.numbered is not None:
            self.numbered.stale = True
        return 0


@cython.final
@cython.no_gc_clear
cdef class PassingWindow(Processor):
    """Replaces the window of a join side without one: an event passes, expires at once if needed, and RESET follows.

    It holds no events, so the other side never finds any.

    Args:
        app: context of the app.
        pool: of the events, which then must belong to the query; None if expired events are not needed.
    """

    def __init__(self, AppContext app not None, EventPool pool):
        self.app = app
        self.pool = pool

    cdef int process(self, EventC* event) except -1:
        cdef int64_t timestamp = event.timestamp
        self.next.process(event)
        if self.pool is not None:
            event.type = EXPIRED
            event.timestamp = now_ms(&self.app.frame)
            self.next.process(event)
        return self.next.reset(timestamp)

    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1:
        cdef Py_ssize_t prefetched = at[0], more
        while at[0] < n:
            # Prefetch what the next events will need while the earlier ones are processed.
            while prefetched < n and prefetched - at[0] <= PREFETCH_EVENTS // 2:
                more = min(n - prefetched, <Py_ssize_t> PREFETCH_EVENTS)
                self.next.prefetch(events + prefetched, more)
                prefetched += more
            self.process_one(events[at[0]])
            at[0] += 1
        return 0


# --- Selection of a join before a rate limiter.

@cython.final
@cython.no_gc_clear
cdef class LimitedJoinSelector(JoinSelector):
    """Counterpart of :class:`siddhi._core.query.ratelimit.LimitedSelector` for joins.

    Args:
        arguments: those of the selector.
        limiter: the limiter.
    """

    cdef Limiter limiter

    def __init__(self, tuple arguments not None, Limiter limiter not None):
        JoinSelector.__init__(self, *arguments)
        self.limiter = limiter
        if limiter.judges:
            limiter.having = self.having
            self.having = None

    cdef EventC* select(self, EventC* event) except? NULL:
        return self.limiter.mark(event, JoinSelector.select(self, event))

    cdef int reset(self, int64_t timestamp) except -1:
        JoinSelector.reset(self, timestamp)
        return self.limiter.reset(timestamp)

    cdef int ensure(self, unsigned int partition) except -1:
        JoinSelector.ensure(self, partition)
        return self.limiter.ensure(partition)

    cdef int drop(self, unsigned int partition) except -1:
        self.limiter.drop(partition)
        return JoinSelector.drop(self, partition)

    cdef int write(self, SnapshotWriter writer) except -1:
        JoinSelector.write(self, writer)
        return self.limiter.write(writer)

    cdef int read(self, SnapshotReader reader) except -1:
        self.limiter.clear()
        try:
            JoinSelector.read(self, reader)
            return self.limiter.read_states(reader, 0 if self.groups is None else self.groups.keys.id_bound())
        finally:
            self.limiter.complete()
