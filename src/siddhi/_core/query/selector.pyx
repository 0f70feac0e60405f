"""Selector of a query."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memset

from siddhi._core.aggregate.aggregator cimport Aggregator, AggregatorStates
from siddhi._core.aggregate.group cimport end_chunk, group_in, leave_group
from siddhi._core.columnar.batch cimport BatchBuilder
from siddhi._core.query.column cimport (
    COPY_OBJECT, aggregate_column, copy_column, make_columns, write_columns, write_row,
)
from siddhi._core.query.order cimport ChunkOrder
from siddhi._core.query.output cimport columns_of, emit_one, end_rows, is_needed
from siddhi._core.record.chunk cimport chunk_append, chunk_clear, chunk_release
from siddhi._core.record.event cimport CURRENT, EXPIRED, TIMER, CellC, acquire, release
from siddhi._core.record.frame cimport TRUE, FrameC
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport BlockTraits, refuse_blocks
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.stream.callback cimport BatchCallback


@cython.no_gc_clear
cdef class Selector(Processor):
    """Select clause, group by, having, order by, limit and offset of one query.

    Args:
        app: context of the app.
        pool: pool of the output's records.
        executors: one per output attribute.
        aggregate_columns: flags of the columns that contain aggregators.
        aggregators: all aggregators of the clause, including `having`.
        groups: the group by, or None.
        mode: SelectMode.
        wants_current, wants_expired: event types that are emitted.
        having: condition over the output, or None.
        ordering: ChunkOrder or None.
        limit, offset: -1 and 0 for none.
        output: receives the chunks.
        late: a batch window comes before, only current events are emitted, there is no having, and every aggregator
            can be read without an event.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, tuple executors not None, aggregate_columns,
                 list aggregators not None, GroupBy groups, int mode, bint wants_current, bint wants_expired,
                 Executor having, ordering, Py_ssize_t limit, Py_ssize_t offset, QueryOutput output not None,
                 bint late=False):
        cdef int i
        self.app = app
        self.pool = pool
        self.executors = executors
        self.n_columns = len(executors)
        self.columns = make_columns(executors, pool.layout)
        for i in range(self.n_columns):
            self.columns[i].aggregates = aggregate_columns[i]
            self.columns[i].accumulates = (
                isinstance(executors[i], Aggregator) and (<Aggregator> executors[i]).value_optional)
        self.has_aggregates = bool(aggregators)
        self.groups = groups
        self.states = AggregatorStates(app, aggregators) if groups is None else None
        self.mode = mode
        self.wants_current = wants_current
        self.wants_expired = wants_expired
        self.having = having
        self.ordering = ordering
        self.limit = limit
        self.offset = offset
        self.output = output
        self.late = late
        chunk_clear(&self.out)
        self.by_column = self.selects_by_column()

    def __dealloc__(self):
        if self.pool is not None:
            self.abort()
        PyMem_Free(self.columns)
        PyMem_Free(self.last_of_group)
        PyMem_Free(self.order)

    @property
    def aggregators(self):
        """Aggregators of the clause, including `having`."""
        return self.states.aggregators if self.groups is None else self.groups.aggregators

    cdef void abort(self) noexcept:
        cdef Py_ssize_t i
        if self.last is not NULL and not self.late:
            release(self.pool, self.last)
        self.last = NULL
        for i in range(self.n_order):
            if self.last_of_group[self.order[i]] is not NULL and not self.late:
                release(self.pool, self.last_of_group[self.order[i]])
            self.last_of_group[self.order[i]] = NULL
        self.n_order = 0
        chunk_release(&self.out, self.pool)

    cdef int ensure(self, unsigned int partition) except -1:
        return self.groups.open_partition(partition) if self.states is None else self.states.ensure(partition)

    cdef int drop(self, unsigned int partition) except -1:
        if self.groups is not None:
            self.groups.drop_partition(partition)
        else:
            self.states.drop(partition)
        return 0

    cdef int process(self, EventC* event) except -1:
        cdef uint32_t group_id = 0
        cdef EventC* out
        if self.late and event.type == CURRENT:
            group_id = self.enter(event)
            if self.has_aggregates:
                self.update(event)
            return self.keep_late(event, group_id)
        out = self.aggregate_event(event, &group_id)
        if out is not NULL:
            self.keep(out, group_id)
        return 0

    cdef int process_one(self, EventC* event) except -1:
        cdef uint32_t group_id = 0
        cdef EventC* out
        cdef bint alone
        cdef BatchCallback sink
        if self.late:
            self.process(event)
            return self.finish()
        alone = (self.out.head is NULL and self.last is NULL and self.n_order == 0 and self.ordering is None
                 and self.limit < 0 and self.offset == 0)
        if alone and self.app.in_batch and self.having is None and event.type == CURRENT and self.wants_current:
            sink = columns_of(self.output)
            if sink is not None:
                # Write into the columns of the batch callback, without a record in between.
                group_id = self.enter(event)
                write_row(self.columns, self.n_columns, event, &self.app.frame, sink.builder)
                end_rows(sink)
                return 0 if self.groups is None else end_chunk(self.groups)
        out = self.aggregate_event(event, &group_id)
        if out is NULL:
            return self.finish()
        if not alone:
            self.keep(out, group_id)
            return self.finish()
        if self.groups is not None:
            end_chunk(self.groups)
        return emit_one(self.output, out)

    cdef inline uint32_t enter(self, EventC* event) except? 0xfffffffe:
        """Set the frame's event type and group; return the group id."""
        cdef FrameC* frame = &self.app.frame
        frame.type = event.type
        frame.group = group_in(self.groups, event, frame) if self.groups is not None else frame.partition
        return frame.group

    cdef inline EventC* aggregate_event(self, EventC* event, uint32_t* group_id) except? NULL:
        """Aggregate an event; return the output event, or NULL, and the group id."""
        cdef EventC* out = NULL
        group_id[0] = self.enter(event)
        if (self.wants_current if event.type == CURRENT else self.wants_expired) and is_needed(self.output):
            out = self.select(event)
        elif self.has_aggregates:
            self.update(event)
        if event.type == EXPIRED and self.groups is not None:
            leave_group(self.groups, group_id[0])
        return out

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        cdef bint order_free
        self.output.bind_blocks(traits)
        order_free = traits.order_free and not self.app.frame.playback
        refuse_blocks(traits)
        traits.order_free = order_free
        traits.takes_pairs = self.by_column
        return 0

    cdef bint waits_for(self, uint32_t slot) noexcept:
        return <Py_ssize_t> slot < self.group_capacity and self.last_of_group[slot] is not NULL

    cdef bint selects_by_column(self) noexcept:
        """Return whether every column is a plain attribute or an infallible aggregator, and every current event is
        emitted."""
        cdef int i
        cdef Aggregator aggregator
        if (type(self) is not Selector or self.groups is not None or self.wants_expired
                or not self.wants_current or self.having is not None or self.ordering is not None or self.limit >= 0
                or self.offset or self.late):
            return False
        for i in range(self.n_columns):
            if self.columns[i].kind <= COPY_OBJECT:
                continue
            if not self.columns[i].accumulates:
                return False
            aggregator = self.executors[i]
            if not aggregator.is_safe():
                return False
        return True

    cdef bint pairs_ready(self) noexcept:
        return (self.by_column and columns_of(self.output) is not None
                and self.out.head is NULL and self.last is NULL)

    cdef int process_pairs(self, EventC** left, EventC** events, Py_ssize_t n) except -1:
        """Write into the columns of the batch callback, column by column."""
        cdef BatchCallback sink = columns_of(self.output)
        cdef BatchBuilder builder = sink.builder
        cdef FrameC* frame = &self.app.frame
        cdef Py_ssize_t i, row = builder.size
        cdef int k
        cdef bint done = False
        while builder.capacity - row < n:
            builder.grow()
        frame.group = frame.partition
        try:
            for k in range(self.n_columns):
                if self.columns[k].kind > COPY_OBJECT:
                    aggregate_column(&self.columns[k], left, events, n, frame, self.columns[k].code, builder.data[k],
                                     builder.valid[k], row)
            done = True
        finally:
            if not done:               # out of memory: nothing was collected
                for k in range(self.n_columns):
                    memset(builder.valid[k] + row, 1, n)
        for k in range(self.n_columns):
            if self.columns[k].kind <= COPY_OBJECT:
                copy_column(&self.columns[k], events, n, self.columns[k].code, builder.data[k], builder.valid[k], row)
        for i in range(n):
            builder.timestamps[row + i] = events[i].timestamp
        builder.size = row + n
        return end_rows(sink)

    cdef EventC* select(self, EventC* event) except? NULL:
        """Return the output event, or NULL if `having` rejects it."""
        cdef EventC* out = acquire(self.pool)
        cdef FrameC* frame = &self.app.frame
        cdef bint passed = False
        cdef int i
        out.timestamp = event.timestamp
        out.type = event.type
        for i in range(self.pool.layout.words):
            out.body[i] = 0
        try:
            write_columns(self.columns, self.n_columns, event, frame, out)
            if self.having is None:
                passed = True
            else:
                frame.output = out
                passed = self.having.c.fn(&self.having.c, event, frame, NULL) == TRUE
        finally:
            if not passed:
                release(self.pool, out)
        return out if passed else NULL

    cdef int update(self, EventC* event) except -1:
        """Update the aggregators for an event that is not emitted."""
        cdef int i
        cdef CellC unused
        for i in range(self.n_columns):
            if self.columns[i].aggregates:
                self.columns[i].x.fn(
                    self.columns[i].x, event, &self.app.frame, NULL if self.columns[i].accumulates else &unused)
        return 0

    cdef int keep(self, EventC* out, uint32_t group_id) except -1:
        if self.mode == EACH:
            chunk_append(&self.out, out)
            self.last_timestamp = out.timestamp
        elif self.mode == LAST:
            if self.last is not NULL:
                release(self.pool, self.last)
            self.last = out
        else:
            if group_id >= self.group_capacity or self.n_order >= self.group_capacity:
                self.grow(max(group_id, self.n_order))
            if self.last_of_group[group_id] is NULL:
                self.order[self.n_order] = group_id
                self.n_order += 1
            else:
                release(self.pool, self.last_of_group[group_id])
            self.last_of_group[group_id] = out
        return 0

    cdef inline int keep_late(self, EventC* event, uint32_t group_id) except -1:
        if self.mode == LAST:
            self.last = event
            return 0
        if group_id >= self.group_capacity or self.n_order >= self.group_capacity:
            self.grow(max(group_id, self.n_order))
        if self.last_of_group[group_id] is NULL:
            self.order[self.n_order] = group_id
            self.n_order += 1
        self.last_of_group[group_id] = event
        return 0

    cdef int select_late(self) except -1:
        """Select the last events of the groups, in order; aggregators are read, not updated."""
        cdef Py_ssize_t i
        cdef FrameC* frame = &self.app.frame
        cdef EventC* event
        cdef bint needed = is_needed(self.output)
        try:
            if self.last is not NULL and needed:
                frame.type = TIMER
                frame.group = frame.partition
                chunk_append(&self.out, self.select(self.last))
            for i in range(self.n_order):
                event = self.last_of_group[self.order[i]]
                if needed:
                    frame.type = TIMER
                    frame.group = self.order[i]
                    chunk_append(&self.out, self.select(event))
        finally:
            self.last = NULL
            for i in range(self.n_order):
                self.last_of_group[self.order[i]] = NULL
            self.n_order = 0
        return 0

    cdef int grow(self, uint32_t group_id) except -1:
        cdef Py_ssize_t capacity = max(16, 2 * self.group_capacity, <Py_ssize_t> group_id + 1)
        cdef EventC** last = <EventC**> PyMem_Realloc(self.last_of_group, capacity * sizeof(EventC*))
        cdef uint32_t* order
        if last is NULL:
            raise MemoryError
        memset(last + self.group_capacity, 0, (capacity - self.group_capacity) * sizeof(EventC*))
        self.last_of_group = last
        order = <uint32_t*> PyMem_Realloc(self.order, capacity * sizeof(uint32_t))
        if order is NULL:
            raise MemoryError
        self.order = order
        self.group_capacity = capacity
        return 0

    cdef int reset(self, int64_t timestamp) except -1:
        # Where every event is emitted, a RESET after the last one dates the chunk.
        self.last_timestamp = timestamp
        if self.groups is not None:
            return self.groups.reset(self.app.frame.partition)
        return self.states.reset_partition(self.app.frame.partition)

    cdef int finish(self) except -1:
        cdef EventChunk chunk
        cdef Py_ssize_t i
        if self.late:
            self.select_late()
        elif self.mode == LAST:
            if self.last is not NULL:
                chunk_append(&self.out, self.last)
                self.last = NULL
        elif self.mode == LAST_PER_GROUP:
            for i in range(self.n_order):
                chunk_append(&self.out, self.last_of_group[self.order[i]])
                self.last_of_group[self.order[i]] = NULL
            self.n_order = 0
        if self.groups is not None:
            end_chunk(self.groups)
        if self.out.head is NULL:
            return 0
        # Detach the chunk first: later operators may send into this query again.
        chunk = self.out
        chunk_clear(&self.out)
        if self.ordering is not None or self.limit >= 0 or self.offset > 0:
            self.arrange(&chunk)
            if chunk.head is NULL:
                return 0
            return self.output.emit(&chunk, chunk.tail.timestamp)
        return self.output.emit(&chunk, self.last_timestamp if self.mode == EACH else chunk.tail.timestamp)

    cdef int arrange(self, EventChunk* chunk) except -1:
        """Order by, offset and limit over one chunk. Expired events count towards the limit but are never cut by it."""
        cdef EventChunk kept
        cdef EventC* event
        cdef EventC* following
        cdef Py_ssize_t position = 0
        if self.ordering is not None and self.mode != LAST:
            (<ChunkOrder> self.ordering).sort(chunk)
        chunk_clear(&kept)
        event = chunk.head
        while event is not NULL:
            following = event.next
            if position < self.offset or (
                    self.limit >= 0 and position - self.offset >= self.limit and event.type == CURRENT):
                release(self.pool, event)
            else:
                chunk_append(&kept, event)
            position += 1
            event = following
        chunk[0] = kept
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        return self.states.write(writer) if self.groups is None else self.groups.write(writer)

    cdef int read(self, SnapshotReader reader) except -1:
        return self.states.read(reader) if self.groups is None else self.groups.read(reader)
