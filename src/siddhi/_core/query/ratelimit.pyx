"""The output rate limiters, and the selection before them."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from siddhi._core.record.chunk cimport EventChunk, chunk_append, chunk_clear, chunk_pop, chunk_release
from siddhi._core.record.event cimport EventC, EventPool, release
from siddhi._core.record.frame cimport TRUE, FrameC, now_ms
from siddhi._core.runtime.context cimport AppContext, next_tick, next_tick_of, passed_over, restored_tick


# no_gc_clear here and below: __dealloc__ releases records and needs the pool for that.
@cython.no_gc_clear
@cython.final
cdef class LimiterState:
    """State of a limiter for one partition id."""

    def __cinit__(self, EventPool pool not None):
        self.pool = pool
        self.due = NO_TICK
        chunk_clear(&self.buffered)

    def __dealloc__(self):
        chunk_release(&self.buffered, self.pool)


@cython.no_gc_clear
cdef class Limiter(RateLimiter):
    """Base of the limiters: states per partition, cells per group, ticks.

    Args:
        app: the app's context.
        pool: pool of the output's records.
        grouped: events carry their group.
        period_ms: time between ticks; 0: none.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, bint grouped, int64_t period_ms=0):
        self.app = app
        self.pool = pool
        self.grouped = grouped
        self.period = period_ms
        self.states = []
        self.pins = []

    def __dealloc__(self):
        cdef uint32_t group_id
        for group_id in range(self.capacity):
            self.empty(&self.cells[group_id])
        PyMem_Free(self.cells)

    cdef inline void empty(self, GroupCellC* cell) noexcept:
        chunk_release(&cell.rows, self.pool)
        if cell.latest is not NULL:
            release(self.pool, cell.latest)
            cell.latest = NULL

    def start(self):
        """Schedule the first tick of every state that has none, at the start of the app."""
        cdef LimiterState state
        cdef uint32_t partition, before = self.app.frame.partition
        try:
            for partition in range(len(self.states)):
                state = self.states[partition]
                if state is not None and state.due == NO_TICK:
                    self.app.frame.partition = partition
                    self.order_tick(state)
        finally:
            self.app.frame.partition = before

    def await_first_instant(self):
        """Schedule the ticks again when playback begins in a running app: the first event starts them."""
        cdef LimiterState state
        for state in self.states:
            if state is not None:
                state.due = NO_TICK
        self.start()

    cdef int order_tick(self, LimiterState state) except -1:
        """Schedule the first tick of the current partition id."""
        if self.period == 0:
            return 0
        if self.app.frame.playback and self.app.frame.clock == 0:
            state.due = FIRST_INSTANT
        else:
            state.due = now_ms(&self.app.frame) + self.period
        return self.app.schedule(self, state.due, self.app.frame.partition)

    cdef int on_timer(self, int64_t when) except -1:
        cdef EventChunk out
        cdef LimiterState state = self.current_state()
        if state is None or state.due != when:
            return 0  # the key was dropped (its partition id may be reused), or an event has done this tick before
        if when == FIRST_INSTANT:
            state.due = now_ms(&self.app.frame) + self.period
            return self.app.schedule(self, state.due, self.app.frame.partition)
        if self.is_idle(self.app.frame.partition):
            return self.rest(state, when + self.period)
        chunk_clear(&out)
        try:
            self.turn(state, &out)
        except:
            chunk_release(&out, self.pool)
            raise
        return self.hand_on(&out)

    cdef bint is_idle(self, uint32_t partition) noexcept:
        cdef LimiterState state
        if partition >= <uint32_t> len(self.states) or self.states[partition] is None:
            return True
        state = <LimiterState> self.states[partition]
        return state.buffered.head is NULL and state.first == 0

    cdef int rest(self, LimiterState state, int64_t due) except -1:
        """Schedule no tick until the next event."""
        state.due = due
        state.resting = True
        return 0

    cdef int wake(self, LimiterState state) except -1:
        """Schedule the next tick and skip the ones before it."""
        state.due = next_tick(self.app, self, state.due, self.period)
        state.resting = False
        return self.app.schedule(self, state.due, self.app.frame.partition)

    cdef int turn(self, LimiterState state, EventChunk* out) except -1:
        """Run a tick, after scheduling the next one."""
        state.due = next_tick_of(self.app, state.due, self.period) if self.repeats else state.due + self.period
        if state.buffered.head is NULL and state.first == 0:
            state.due = passed_over(state.due, now_ms(&self.app.frame), self.period)
        self.app.schedule(self, state.due, self.app.frame.partition)
        return self.tick(state, out)

    cdef int limit(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        cdef EventChunk out
        cdef LimiterState state = self.current_state()
        chunk_clear(&out)
        try:
            if state is None:
                return 0
            if state.resting:
                self.wake(state)
            if self.period and state.due > FIRST_INSTANT and not self.app.frame.playback and (
                    state.due <= now_ms(&self.app.frame)):
                # The timer thread is late. Run its tick first, so that its output does not include this chunk.
                self.turn(state, &out)
                self.hand_on(&out)
                chunk_clear(&out)
            while chunk.head is not NULL:
                self.take(state, chunk_pop(chunk), &out)
        except:
            chunk_release(&out, self.pool)
            raise
        finally:
            chunk_release(chunk, self.pool)
            self.unpin()
        return self.hand_on(&out)

    cdef int hand_on(self, EventChunk* out) except -1:
        """Deliver the events of `out`, if there are any."""
        if out.head is NULL:
            return 0
        return self.output.deliver(out, out.tail.timestamp)

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        chunk_append(out, event)
        return 0

    cdef int tick(self, LimiterState state, EventChunk* out) except -1:
        return 0

    # --- states and cells

    cdef inline LimiterState current_state(self):
        cdef uint32_t partition = self.app.frame.partition
        return <LimiterState> self.states[partition] if partition < <uint32_t> len(self.states) else None

    cdef int ensure(self, unsigned int partition) except -1:
        cdef uint32_t before = self.app.frame.partition
        while len(self.states) <= partition:
            self.states.append(None)
        if self.states[partition] is None:
            self.states[partition] = LimiterState(self.pool)
            if self.app.running:
                self.app.frame.partition = partition
                try:
                    self.order_tick(self.states[partition])
                finally:
                    self.app.frame.partition = before
        return 0

    cdef int drop(self, unsigned int partition) except -1:
        cdef LimiterState state
        if partition < <unsigned int> len(self.states) and self.states[partition] is not None:
            state = self.states[partition]
            self.states[partition] = None
            self.forget(state)
        return 0

    cdef int reset(self, int64_t timestamp) except -1:
        # RESET is not an output event: limiters neither count nor emit it.
        return 0

    cdef inline uint32_t group_of(self, EventC* event) except? 0xfffffffe:
        """Return the group id of an event's cell, and clear the group of the event."""
        cdef uint32_t group_id = event.group - 1 if self.grouped else self.app.frame.partition
        event.group = 0
        if group_id >= self.capacity:
            self.reserve(group_id)
        if event.flags & ANEW:
            event.flags &= ~ANEW
            self.begin_anew(group_id)
        return group_id

    cdef int begin_anew(self, uint32_t group_id) except -1:
        """Clear the cell of a group that was dropped and has begun again, unless that has been done."""
        if not self.cells[group_id].anew:
            return 0
        self.cells[group_id].anew = False
        return self.unlink(<LimiterState> self.states[self.groups.partition_of(group_id)], group_id)

    cdef int reserve(self, uint32_t group_id) except -1:
        cdef uint32_t capacity = max(<uint32_t> 4, 2 * self.capacity, group_id + 1)
        cdef GroupCellC* cells = <GroupCellC*> PyMem_Realloc(self.cells, capacity * sizeof(GroupCellC))
        if cells is NULL:
            raise MemoryError
        memset(cells + self.capacity, 0, (capacity - self.capacity) * sizeof(GroupCellC))
        self.cells = cells
        self.capacity = capacity
        return 0

    cdef void link(self, LimiterState state, uint32_t group_id) noexcept:
        """Append a cell to the linked cells of the partition, unless it is linked."""
        cdef GroupCellC* cell = &self.cells[group_id]
        if cell.linked:
            return
        cell.linked = True
        cell.previous = state.last
        cell.following = 0
        if state.last:
            self.cells[state.last - 1].following = group_id + 1
        else:
            state.first = group_id + 1
        state.last = group_id + 1

    cdef int unlink(self, LimiterState state, uint32_t group_id) except -1:
        """Clear a cell and unlink it."""
        cdef GroupCellC* cell = &self.cells[group_id]
        if not cell.linked:
            return 0
        if cell.previous:
            self.cells[cell.previous - 1].following = cell.following
        else:
            state.first = cell.following
        if cell.following:
            self.cells[cell.following - 1].previous = cell.previous
        else:
            state.last = cell.previous
        cell.linked = False
        cell.value = cell.shown = 0
        self.empty(cell)
        if self.groups is not None and not cell.pinned:
            self.groups.drop_unused(group_id)
        return 0

    cdef int forget(self, LimiterState state) except -1:
        """Clear the state of a partition id, except its ticks."""
        state.count = 0
        chunk_release(&state.buffered, self.pool)
        while state.first:
            self.unlink(state, state.first - 1)
        return 0

    cdef EventC* mark(self, EventC* event, EventC* out) except? NULL:
        """Write group, flags and the result of `having` into the output record of an event; `out` may be NULL."""
        cdef FrameC* frame = &self.app.frame
        if out is NULL:
            return NULL
        out.stamp = 0
        if self.grouped:
            out.group = frame.group + 1
            if self.groups is not None:
                self.pin(frame.group)
                if self.cells[frame.group].anew:
                    out.flags |= ANEW
        if self.having is not None:
            frame.output = out
            try:
                out.stamp = self.having.c.fn(&self.having.c, event, frame, NULL) != TRUE
            except:
                release(self.pool, out)
                raise
        return out

    cdef int clear(self) except -1:
        """Drop all states, before they are read from a snapshot."""
        cdef uint32_t partition
        self.awaited = {partition for partition in range(len(self.states)) if self.states[partition] is not None}
        for partition in range(len(self.states)):
            self.drop(partition)
        return 0

    cdef int complete(self) except -1:
        """Create the states that could not be read."""
        cdef uint32_t partition
        for partition in self.awaited:
            self.ensure(partition)
        self.awaited = None
        return 0

    cdef int pin(self, uint32_t group_id) except -1:
        """Keep a group until the current chunk has been processed."""
        if group_id >= self.capacity:
            self.reserve(group_id)
        if not self.cells[group_id].pinned:
            self.cells[group_id].pinned = True
            self.pins.append(group_id)
        return 0

    cdef int unpin(self) except -1:
        cdef uint32_t group_id
        while self.pins:
            group_id = self.pins.pop()
            self.begin_anew(group_id)       # if no row of the group has done this
            self.cells[group_id].pinned = False
            if not self.cells[group_id].linked:
                self.groups.drop_unused(group_id)
        return 0

    # --- snapshots

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef LimiterState state
        cdef uint32_t partition, group_id
        writer.put_u32(<uint32_t> sum([state is not None for state in self.states]))
        for partition in range(len(self.states)):
            state = self.states[partition]
            if state is None:
                continue
            writer.put_u32(partition)
            writer.put_due(state.due)
            writer.put_i64(state.count)
            write_chunk(&state.buffered, writer, self.pool)
            group_id = state.first
            while group_id:
                writer.put_u32(group_id)
                self.write_cell(&self.cells[group_id - 1], writer)
                group_id = self.cells[group_id - 1].following
            writer.put_u32(0)
        return 0

    cdef int read_states(self, SnapshotReader reader, uint32_t n_groups) except -1:
        """Read the states that clear() dropped; the groups have been read before."""
        cdef LimiterState state
        cdef uint32_t partition, group_id, i, n = reader.get_u32(), before = self.app.frame.partition
        cdef uint32_t n_slots = n_groups if self.grouped else <uint32_t> len(self.states)
        if n != <uint32_t> len(self.awaited):
            raise ValueError("snapshot is damaged: its rate limit has other keys than the partition")
        try:
            for i in range(n):  # no-cython-lint
                partition = reader.get_u32()
                if partition not in self.awaited:
                    raise ValueError("snapshot is damaged: its rate limit refers to an unknown partition key")
                self.awaited.remove(partition)
                state = LimiterState(self.pool)
                self.states[partition] = state
                state.due = reader.get_due()
                state.count = reader.get_i64()
                read_chunk(&state.buffered, reader, self.pool, n_slots)
                group_id = reader.get_u32()
                while group_id:
                    if group_id > n_slots or (group_id <= self.capacity and self.cells[group_id - 1].linked):
                        raise ValueError("snapshot is damaged: its rate limit refers to an unknown group")
                    if not self.is_of(group_id - 1, partition):
                        raise ValueError("snapshot is damaged: its rate limit refers to a group of another partition key")
                    if group_id > self.capacity:
                        self.reserve(group_id - 1)
                    self.link(state, group_id - 1)
                    self.read_cell(&self.cells[group_id - 1], reader, n_slots)
                    group_id = reader.get_u32()
                self.app.frame.partition = partition
                self.resume(state)
        finally:
            self.app.frame.partition = before
        return 0

    cdef bint is_of(self, uint32_t group_id, uint32_t partition) noexcept:
        """Return whether a cell may belong to a partition id."""
        if not self.grouped:
            return group_id == partition
        if self.groups is None:
            return True
        return self.groups.keys.is_live(group_id) and self.groups.partition_of(group_id) == (
            partition if self.groups.partitioned else 0)

    cdef int resume(self, LimiterState state) except -1:
        """Schedule the pending tick again. Ticks missed while the app did not run are not repeated."""
        if self.period == 0:
            return 0
        if state.due == NO_TICK:
            return self.order_tick(state) if self.app.running else 0
        if state.due != FIRST_INSTANT:
            self.rest(state, restored_tick(self.app, state.due, self.period))
            return 0 if self.is_idle(self.app.frame.partition) else self.wake(state)
        return self.app.schedule(self, state.due, self.app.frame.partition)

    cdef int write_cell(self, GroupCellC* cell, SnapshotWriter writer) except -1:
        writer.put_i64(cell.value)
        write_chunk(&cell.rows, writer, self.pool)
        writer.put_bool(cell.latest is not NULL)
        if cell.latest is not NULL:
            writer.put_event(cell.latest, self.pool.layout)
        return 0

    cdef int read_cell(self, GroupCellC* cell, SnapshotReader reader, uint32_t n_slots) except -1:
        cell.value = reader.get_i64()
        read_chunk(&cell.rows, reader, self.pool, n_slots)
        if reader.get_bool():
            cell.latest = reader.get_event(self.pool)
        return 0


cdef int write_chunk(EventChunk* chunk, SnapshotWriter writer, EventPool pool) except -1:
    cdef Py_ssize_t n = 0
    cdef EventC** events
    cdef EventC* event = chunk.head
    while event is not NULL:
        n += 1
        event = event.next
    events = <EventC**> PyMem_Malloc(max(1, n) * sizeof(EventC*))
    if events is NULL:
        raise MemoryError
    try:
        n = 0
        event = chunk.head
        while event is not NULL:
            events[n] = event
            n += 1
            event = event.next
        writer.put_events(events, n, pool.layout)
        for i in range(n):
            writer.put_u32(events[i].group)
            writer.put_bool(events[i].stamp != 0)
    finally:
        PyMem_Free(events)
    return 0


cdef int read_chunk(EventChunk* chunk, SnapshotReader reader, EventPool pool, uint32_t n_slots) except -1:
    """Append the events of the snapshot; their group ids are below n_slots."""
    cdef EventC** events = NULL
    cdef Py_ssize_t i, n = reader.get_events(pool, &events)
    for i in range(n):
        chunk_append(chunk, events[i])
    try:
        for i in range(n):
            events[i].group = reader.get_u32()
            events[i].stamp = reader.get_bool()
            if events[i].group > n_slots:
                raise ValueError("snapshot is damaged: a row refers to an unknown group")
    finally:
        PyMem_Free(events)
    return 0


cdef class LimitedGroups(GroupBy):
    """Groups that keep their id while a limiter has state of them."""

    def set_limiter(self, Limiter limiter not None):
        """Set the limiter."""
        self.limiter = limiter
        limiter.groups = self

    cdef bint is_over(self, uint32_t group_id) noexcept:
        if group_id < self.limiter.capacity and (self.limiter.cells[group_id].linked or self.limiter.cells[group_id].pinned):
            return False
        return GroupBy.is_over(self, group_id)

    cdef void revive(self, uint32_t group_id) noexcept:
        """Have the limiter clear its state of the group after the rows that were selected before."""
        if group_id < self.limiter.capacity and self.limiter.cells[group_id].pinned:
            self.limiter.cells[group_id].anew = True

    cdef int discard(self, uint32_t group_id) except -1:
        """Drop the group and its state in the limiter."""
        cdef uint32_t partition = self.partition_of(group_id)
        if group_id < self.limiter.capacity and self.limiter.cells[group_id].linked:
            self.limiter.unlink(<LimiterState> self.limiter.states[partition], group_id)
        return GroupBy.discard(self, group_id) if self.keys.is_live(group_id) else 0

    cdef bint is_pinned(self, uint32_t group_id) noexcept:
        return group_id < self.limiter.capacity and self.limiter.cells[group_id].pinned

    cdef int drop_unused(self, uint32_t group_id) except -1:
        """Drop the group if it has no rows; the limiter has no state of it any more."""
        if group_id < self.keys.id_bound() and self.keys.is_live(group_id) and self.row_counts[group_id] == 0:
            return self.drop(group_id)
        return 0


@cython.no_gc_clear
cdef class LimitedSelector(Selector):
    """Selector before a limiter: passes on the group of each emitted event, and RESET.

    The limiter's state is created, dropped and saved with the selector's.

    Args:
        arguments: those of :class:`Selector`.
        limiter: the limiter.
    """

    def __init__(self, tuple arguments not None, Limiter limiter not None):
        Selector.__init__(self, *arguments)
        self.limiter = limiter
        if limiter.judges:
            limiter.having = self.having
            self.having = None

    cdef EventC* select(self, EventC* event) except? NULL:
        return self.limiter.mark(event, Selector.select(self, event))

    cdef int reset(self, int64_t timestamp) except -1:
        Selector.reset(self, timestamp)
        return self.limiter.reset(timestamp)

    cdef int ensure(self, unsigned int partition) except -1:
        Selector.ensure(self, partition)
        return self.limiter.ensure(partition)

    cdef int drop(self, unsigned int partition) except -1:
        self.limiter.drop(partition)
        return Selector.drop(self, partition)

    cdef int write(self, SnapshotWriter writer) except -1:
        Selector.write(self, writer)
        return self.limiter.write(writer)

    cdef int read(self, SnapshotReader reader) except -1:
        self.limiter.clear()
        try:
            Selector.read(self, reader)
            return self.limiter.read_states(reader, 0 if self.groups is None else self.groups.keys.id_bound())
        finally:
            self.limiter.complete()


# --- ``output [all | first | last] every N events``.

@cython.final
@cython.no_gc_clear
cdef class AllEveryEvents(Limiter):
    """Emit N events together; with N < 1 emit nothing.

    Args:
        events: N.
    """

    cdef int64_t events

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t events):
        Limiter.__init__(self, app, pool, False)
        self.events = events

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        if self.events < 1:
            release(self.pool, event)
            return 0
        chunk_append(&state.buffered, event)
        state.count += 1
        if state.count == self.events:
            state.count = 0
            append_chunk(out, &state.buffered)
        return 0


@cython.final
@cython.no_gc_clear
cdef class FirstEveryEvents(Limiter):
    """Emit the first of every N events, per group with group by; with N < 1 only the very first event.

    Args:
        events: N.
        grouped: count by group.
    """

    cdef int64_t events

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t events, bint grouped):
        Limiter.__init__(self, app, pool, grouped)
        self.events = events

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        cdef uint32_t group_id = self.group_of(event)
        cdef GroupCellC* cell = &self.cells[group_id]
        self.link(state, group_id)
        cell.value += 1
        if cell.value == 1:
            chunk_append(out, event)
        else:
            release(self.pool, event)
        if cell.value == self.events:
            self.unlink(state, group_id)  # the next event counts as the first one
        return 0


@cython.final
@cython.no_gc_clear
cdef class LastEveryEvents(Limiter):
    """Emit, at every N-th event, the last event, or the last one of each group in order of first appearance.

    Args:
        events: N; with N < 1 nothing is emitted.
        grouped: emit per group.
    """

    cdef int64_t events

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t events, bint grouped):
        Limiter.__init__(self, app, pool, grouped)
        self.events = events

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        cdef uint32_t group_id = self.group_of(event)
        if self.events < 1:
            release(self.pool, event)
            return 0
        self.link(state, group_id)
        chunk_release(&self.cells[group_id].rows, self.pool)
        chunk_append(&self.cells[group_id].rows, event)
        state.count += 1
        if state.count == self.events:
            state.count = 0
            while state.first:
                group_id = state.first - 1
                append_chunk(out, &self.cells[group_id].rows)
                self.unlink(state, group_id)
        return 0


cdef inline void append_chunk(EventChunk* chunk, EventChunk* other) noexcept:
    """Move the events of another chunk to the end of this one."""
    if other.head is NULL:
        return
    if chunk.tail is NULL:
        chunk.head = other.head
    else:
        chunk.tail.next = other.head
    chunk.tail = other.tail
    chunk_clear(other)


# --- ``output [all | first | last] every <time>``, by the app's clock.

@cython.final
@cython.no_gc_clear
cdef class AllEveryTime(Limiter):
    """Emit, at every tick, the events since the last one.

    Args:
        period_ms: time between ticks.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t period_ms):
        Limiter.__init__(self, app, pool, False, period_ms)

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        chunk_append(&state.buffered, event)
        return 0

    cdef int tick(self, LimiterState state, EventChunk* out) except -1:
        while state.buffered.head is not NULL:
            chunk_append(out, chunk_pop(&state.buffered))
        return 0


@cython.final
@cython.no_gc_clear
cdef class LastEveryTime(Limiter):
    """Emit, at every tick, the last event since the last one, or that of each group in order of first appearance.

    Args:
        period_ms: time between ticks.
        grouped: emit per group.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t period_ms, bint grouped):
        Limiter.__init__(self, app, pool, grouped, period_ms)

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        cdef uint32_t group_id = self.group_of(event)
        self.link(state, group_id)
        chunk_release(&self.cells[group_id].rows, self.pool)
        chunk_append(&self.cells[group_id].rows, event)
        return 0

    cdef int tick(self, LimiterState state, EventChunk* out) except -1:
        cdef uint32_t group_id
        while state.first:
            group_id = state.first - 1
            chunk_append(out, chunk_pop(&self.cells[group_id].rows))
            self.unlink(state, group_id)
        return 0


@cython.final
@cython.no_gc_clear
cdef class FirstEveryTime(Limiter):
    """Emit an event at once, unless one was emitted less than `time_ms` ago; per group with group by.

    Args:
        time_ms: how long further events are dropped.
        grouped: limit per group.
    """

    cdef int64_t time

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t time_ms, bint grouped):
        Limiter.__init__(self, app, pool, grouped)
        self.time = time_ms

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        cdef uint32_t group_id = self.group_of(event)
        cdef GroupCellC* cell = &self.cells[group_id]
        cdef int64_t now = now_ms(&self.app.frame)
        # Cells are linked in the order in which their events were emitted. Clear those whose time is over.
        while state.first and now - self.cells[state.first - 1].value >= self.time:
            self.unlink(state, state.first - 1)
        if cell.linked:
            release(self.pool, event)
            return 0
        self.link(state, group_id)
        cell.value = now
        chunk_append(out, event)
        return 0
