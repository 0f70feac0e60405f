"""Fused batch windows: ``lengthBatch`` and ``timeBatch`` with sum, avg and count, accumulated as events arrive."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from siddhi._core.aggregate.accumulator cimport (
    MAX_ARGUMENTS, AccumulatorC, accumulator_value, add_arguments, take_arguments,
)
from siddhi._core.aggregate.aggregator cimport Aggregator
from siddhi._core.aggregate.group cimport GroupBy, find_near, group_near
from siddhi._core.index.hash_index cimport NO_ID
from siddhi._core.query.column cimport COPY_OBJECT, ColumnC
from siddhi._core.query.output cimport is_needed
from siddhi._core.record.chunk cimport chunk_append
from siddhi._core.record.event cimport CURRENT, DOUBLE, FLOAT, OBJECT, acquire, release
from siddhi._core.record.frame cimport MAX_BLOCK, NULL_VALUE, FrameC, now_ms
from siddhi._core.runtime.context cimport next_tick, passed_over, restored_tick
from siddhi._core.runtime.operator cimport BlockTraits, refuse_blocks
from siddhi._core.runtime.ring cimport EventRingC, ring_clear, ring_pop, ring_push, ring_read, ring_write
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef int add_group(GroupListC* groups, uint32_t group_id) except -1:
    cdef Py_ssize_t capacity
    cdef uint32_t* group_ids
    if groups.n == groups.capacity:
        capacity = max(4, 2 * groups.capacity)
        group_ids = <uint32_t*> PyMem_Realloc(groups.group_ids, capacity * sizeof(uint32_t))
        if group_ids is NULL:
            raise MemoryError
        groups.group_ids = group_ids
        groups.capacity = capacity
    groups.group_ids[groups.n] = group_id
    groups.n += 1
    return 0


@cython.final
@cython.no_gc_clear
cdef class TumblingAggregate(Selector):
    """Selector fused with a batch window. Takes the arguments of :class:`Selector`; an ``over_`` method sets the
    window."""

    def __dealloc__(self):
        cdef unsigned int i
        for i in range(self.capacity):
            self.drop_rows(&self.batches[i])
            PyMem_Free(self.batches[i].groups.group_ids)
            PyMem_Free(self.batches[i].before.group_ids)
        PyMem_Free(self.batches)
        PyMem_Free(self.rows)
        PyMem_Free(self.accumulator_of)
        PyMem_Free(self.shown)

    def over_length(self, int64_t length):
        """Use ``lengthBatch(n)``, n > 0."""
        self.extent = length
        self.prepare()

    def over_time(self, int64_t duration_ms, start_ms):
        """Use ``timeBatch(t [, start])``, see TimeBatchWindow."""
        self.timed = True
        self.extent = duration_ms
        self.aligned = start_ms is not None
        self.start = start_ms if start_ms is not None else 0
        self.prepare()

    def prepare(self):
        cdef int i
        self.accumulators = Accumulators(self.states.aggregators if self.groups is None else self.groups.aggregators)
        self.accumulator_of = <int*> PyMem_Malloc(max(1, self.n_columns) * sizeof(int))
        self.shown = <int*> PyMem_Malloc(max(1, self.n_columns) * sizeof(int))
        if self.accumulator_of is NULL or self.shown is NULL:
            raise MemoryError
        for i in range(self.n_columns):
            self.accumulator_of[i] = -1
            if self.columns[i].accumulates:
                self.accumulator_of[i] = self.accumulators.aggregators.index(self.executors[i])
            elif self.columns[i].kind > COPY_OBJECT:
                raise ValueError("a fused batch window can only output plain attributes and aggregators")
            elif self.groups is not None and is_key(self.groups, &self.columns[i]):
                self.accumulator_of[i] = KEY
            else:
                self.shown[self.n_shown] = i
                self.n_shown += 1

    # --- state

    cdef int ensure(self, unsigned int partition) except -1:
        cdef unsigned int capacity
        cdef TumbleC* batches
        Selector.ensure(self, partition)
        if partition >= self.capacity:
            capacity = max(1, 2 * self.capacity, partition + 1)
            batches = <TumbleC*> PyMem_Realloc(self.batches, capacity * sizeof(TumbleC))
            if batches is NULL:
                raise MemoryError
            memset(batches + self.capacity, 0, (capacity - self.capacity) * sizeof(TumbleC))
            self.batches = batches
            self.capacity = capacity
        self.batches[partition].live = True
        return 0

    cdef int drop(self, unsigned int partition) except -1:
        if partition < self.capacity:
            self.forget(&self.batches[partition])
        return Selector.drop(self, partition)

    cdef int drop_rows(self, TumbleC* batch) noexcept:
        cdef Py_ssize_t i
        for i in range(batch.groups.n):
            release(self.pool, self.rows[batch.groups.group_ids[i]])
            self.rows[batch.groups.group_ids[i]] = NULL
        batch.groups.n = 0
        return 0

    cdef int forget(self, TumbleC* batch) except -1:
        self.drop_rows(batch)
        PyMem_Free(batch.groups.group_ids)
        PyMem_Free(batch.before.group_ids)
        memset(batch, 0, sizeof(TumbleC))
        return 0

    # --- arrival of events

    cdef int start_clock(self, TumbleC* batch) except -1:
        """Begin the first period, or one after empty periods; a timer fires at its end."""
        cdef int64_t now
        if batch.started:
            batch.boundary = next_tick(self.app, self, batch.boundary, self.extent)
        else:
            now = now_ms(&self.app.frame)
            batch.boundary = now + self.extent - ((now - self.start) % self.extent if self.aligned else 0)
        batch.started = batch.armed = True
        self.app.wiring += 1               # see bind_blocks()
        return self.app.schedule(self, batch.boundary, self.app.frame.partition)

    cdef EventC* open_row(self, TumbleC* batch, uint32_t group_id) except NULL:
        """Create the row of a group at its first event in the batch."""
        cdef EventC* row
        cdef Py_ssize_t capacity
        cdef EventC** rows
        cdef int i
        if group_id >= self.row_capacity:
            capacity = max(16, 2 * self.row_capacity, <Py_ssize_t> group_id + 1)
            rows = <EventC**> PyMem_Realloc(self.rows, capacity * sizeof(EventC*))
            if rows is NULL:
                raise MemoryError
            memset(rows + self.row_capacity, 0, (capacity - self.row_capacity) * sizeof(EventC*))
            self.rows = rows
            self.row_capacity = capacity
        add_group(&batch.groups, group_id)
        try:
            row = acquire(self.pool)
        except MemoryError:
            batch.groups.n -= 1
            raise
        for i in range(self.pool.layout.words):
            row.body[i] = 0
        for i in range(self.n_columns):
            # Null until the batch ends.
            if self.accumulator_of[i] >= 0:
                row.body[self.columns[i].word] |= self.columns[i].bit
                row.body[self.columns[i].cell] = 0
        self.rows[group_id] = row
        return row

    cdef inline int show_last(self, EventC* event, uint32_t group_id, TumbleC* batch) except -1:
        """Update the row of a group to an event."""
        cdef EventC* row = self.rows[group_id] if group_id < self.row_capacity else NULL
        cdef int i
        if row is NULL:
            row = self.open_row(batch, group_id)
            for i in range(self.n_columns):
                if self.accumulator_of[i] == KEY:
                    show(&self.columns[i], event, row)
        row.timestamp = event.timestamp
        for i in range(self.n_shown):
            show(&self.columns[self.shown[i]], event, row)
        return 0

    cdef inline int take(self, EventC* event, TumbleC* batch) except -1:
        """Accumulate an event."""
        cdef uint64_t[MAX_ARGUMENTS] values
        cdef uint32_t nulls, group_id
        cdef FrameC* frame = &self.app.frame
        frame.type = CURRENT
        frame.group = frame.partition
        take_arguments(self.accumulators, event, frame, values, &nulls)
        group_id = group_near(self.groups, event, frame) if self.groups is not None else frame.partition
        self.show_last(event, group_id, batch)
        add_arguments(self.accumulators.accumulators, self.accumulators.n, group_id, values, nulls)
        batch.size += 1
        return 0

    cdef int process_one(self, EventC* event) except -1:
        cdef TumbleC* batch = &self.batches[self.app.frame.partition]
        if self.timed:
            if not batch.armed:
                self.start_clock(batch)
            return self.take(event, batch)
        self.take(event, batch)
        return self.emit_batch(batch) if batch.size >= self.extent else 0

    cdef int process(self, EventC* event) except -1:
        return self.process_one(event)

    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1:
        cdef TumbleC* batch = &self.batches[self.app.frame.partition]
        cdef Py_ssize_t m
        if self.timed and n and not batch.armed:
            self.start_clock(batch)
        while at[0] < n:
            if not self.accumulators.plain:
                self.process_one(events[at[0]])
                at[0] += 1
                continue
            m = n - at[0]
            if not self.timed and m > self.extent - batch.size:
                m = <Py_ssize_t> (self.extent - batch.size)
            self.take_block(events + at[0], m, batch)
            at[0] += m
            if not self.timed and batch.size >= self.extent:
                self.emit_batch(batch)
        return 0

    cdef int take_block(self, EventC** events, Py_ssize_t n, TumbleC* batch) except -1:
        """Accumulate a block of events; the batch must have room for all."""
        cdef uint32_t group_ids[MAX_BLOCK]
        cdef FrameC* frame = &self.app.frame
        cdef GroupBy groups = self.groups
        cdef Py_ssize_t j
        cdef uint32_t group_id = frame.partition
        frame.type = CURRENT
        frame.group = frame.partition
        self.accumulators.take_block(events, n)
        if groups is not None:
            find_near(groups, events, n, group_ids)
        for j in range(n):
            if groups is not None:
                group_id = group_ids[j]
                if group_id != NO_ID:
                    groups.row_counts[group_id] += 1
                else:
                    group_id = group_near(groups, events[j], frame)
            group_ids[j] = group_id
            self.show_last(events[j], group_id, batch)
        self.accumulators.add_block(group_ids, n)
        batch.size += n
        return 0

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        cdef bint order_free
        self.output.bind_blocks(traits)
        # In playback a block is processed before the clock has advanced to its rows. That is safe once the first period
        # has begun, if no later operator reads the clock and no row can fail.
        order_free = traits.order_free and (
            not self.app.frame.playback
            or (self.output.sink is not None and self.accumulators.plain and self.capacity != 0
                and (not self.timed or self.batches[0].armed)))
        self.in_blocks = self.in_blocks or (order_free and self.app.frame.playback)
        refuse_blocks(traits)
        traits.order_free = order_free
        return 0

    cdef int on_timer(self, int64_t when) except -1:
        cdef TumbleC* batch
        if self.app.frame.partition >= self.capacity:
            return 0
        batch = &self.batches[self.app.frame.partition]
        if not batch.started or batch.boundary != when:
            return 0  # of a removed key, whose partition id may be reused
        batch.boundary = when + self.extent
        if batch.groups.n == 0:
            if not self.in_blocks:
                batch.armed = False
                return 0
            batch.boundary = passed_over(batch.boundary, now_ms(&self.app.frame), self.extent)
        self.app.schedule(self, batch.boundary, self.app.frame.partition)
        return self.emit_batch(batch)

    cdef bint is_idle(self, uint32_t partition) noexcept:
        return partition >= self.capacity or self.batches[partition].groups.n == 0

    cdef int emit_batch(self, TumbleC* batch) except -1:
        """End the batch: emit its groups and reset."""
        cdef const AccumulatorC* accumulators = self.accumulators.accumulators
        cdef Aggregator aggregator
        cdef GroupListC groups
        cdef EventC* row
        cdef ColumnC* column
        cdef Py_ssize_t i
        cdef int c, k
        cdef uint32_t group_id
        cdef bint needed = is_needed(self.output)
        batch.size = 0
        if batch.groups.n == 0:
            return 0
        if self.groups is not None:
            for i in range(batch.before.n):
                group_id = batch.before.group_ids[i]
                if self.groups.keys.is_live(group_id) and self.groups.row_counts[group_id] == 0:
                    self.groups.drop(group_id)
        for i in range(batch.groups.n):
            group_id = batch.groups.group_ids[i]
            row = self.rows[group_id]
            self.rows[group_id] = NULL
            for c in range(self.n_columns):
                column = &self.columns[c]
                k = self.accumulator_of[c]
                if k >= 0 and needed and (
                        accumulator_value(&accumulators[k], group_id, &row.body[column.cell]) != NULL_VALUE):
                    row.body[column.word] &= ~column.bit
            for aggregator in self.accumulators.aggregators:
                aggregator.reset(group_id)
            if self.groups is not None:
                self.groups.row_counts[group_id] = 0
            if needed:
                chunk_append(&self.out, row)
            else:
                release(self.pool, row)
        groups = batch.before
        groups.n = 0
        batch.before = batch.groups
        batch.groups = groups
        return self.finish()

    # --- snapshots

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef unsigned int i, n = 0
        cdef Py_ssize_t j
        cdef TumbleC* batch
        cdef EventRingC rows
        Selector.write(self, writer)
        for i in range(self.capacity):
            n += self.batches[i].live
        writer.put_u32(n)
        for i in range(self.capacity):
            batch = &self.batches[i]
            if not batch.live:
                continue
            writer.put_u32(i)
            writer.put_i64(batch.size)
            writer.put_bool(batch.started)
            writer.put_due(batch.boundary)
            write_group_list(&batch.groups, writer)
            write_group_list(&batch.before, writer)
            memset(&rows, 0, sizeof(EventRingC))
            try:
                for j in range(batch.groups.n):
                    ring_push(&rows, self.rows[batch.groups.group_ids[j]])
                ring_write(&rows, writer, self.pool)
            finally:
                while rows.size:
                    ring_pop(&rows)
                ring_clear(&rows, self.pool)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef unsigned int i, partition, n, before = self.app.frame.partition
        cdef TumbleC* batch
        cdef set missing = {i for i in range(self.capacity) if self.batches[i].live}
        for i in range(self.capacity):
            self.forget(&self.batches[i])
        try:
            self.app.wiring += 1
            Selector.read(self, reader)
            n = reader.get_u32()
            for _ in range(n):  # no-cython-lint
                partition = reader.get_u32()
                if partition not in missing:
                    raise ValueError(f"snapshot is damaged: a batch has an unknown partition key ({partition})")
                missing.discard(partition)
                self.ensure(partition)
                batch = &self.batches[partition]
                batch.size = reader.get_i64()
                batch.started = reader.get_bool()
                batch.boundary = reader.get_due()
                self.read_groups(partition, reader)
                if self.timed and batch.started:
                    self.app.frame.partition = partition
                    batch.boundary = restored_tick(self.app, batch.boundary, self.extent)
                    if batch.groups.n:
                        batch.armed = True
                        self.app.schedule(self, batch.boundary, partition)
        finally:
            self.app.frame.partition = before
            for i in missing:
                self.ensure(i)
        return 0

    def read_groups(self, unsigned int partition, SnapshotReader reader not None):
        """Read the groups of a batch and their rows; check them against the keys read before."""
        cdef TumbleC* batch = &self.batches[partition]
        cdef EventRingC rows
        cdef EventC* row
        cdef uint32_t group_id
        cdef list groups = read_group_list(reader), earlier = read_group_list(reader)
        for group_id in [*groups, *earlier]:
            # Groups of the previous batch may have been dropped since; those of this batch may not.
            if group_id != partition if self.groups is None else group_id >= self.groups.keys.id_bound():
                raise ValueError(f"snapshot is damaged: a batch has an unknown group ({group_id})")
        if self.groups is not None and not all([self.groups.keys.is_live(group_id) for group_id in groups]):
            raise ValueError("snapshot is damaged: a batch has groups that were dropped")
        if self.groups is not None and any([self.groups.partition_of(group_id) != partition for group_id in groups]):
            raise ValueError("snapshot is damaged: a batch has groups of another partition key")
        memset(&rows, 0, sizeof(EventRingC))
        try:
            ring_read(&rows, reader, self.pool)
            if rows.size != len(groups) or len(set(groups)) != len(groups):
                raise ValueError("snapshot is damaged: the rows of a batch do not fit its groups")
            for group_id in groups:
                row = self.open_row(batch, group_id)
                self.rows[group_id] = ring_pop(&rows)
                release(self.pool, row)
            for group_id in earlier:
                add_group(&batch.before, group_id)
        finally:
            ring_clear(&rows, self.pool)


cdef bint is_key(GroupBy groups, const ColumnC* column) noexcept:
    """Return whether all events of a group have the same bits in a column."""
    cdef int k
    for k in range(groups.n_cells):
        if groups.cells[k].slot < 0 and groups.cells[k].cell == column.source_cell:
            return column.code != DOUBLE and column.code != FLOAT and column.code != OBJECT
    return False


cdef inline void show(const ColumnC* column, const EventC* event, EventC* row) noexcept:
    """Copy a plain attribute of the latest event into a row."""
    cdef uint64_t value = event.body[column.source_cell], old = row.body[column.cell]
    if event.body[column.source_word] & column.source_bit:
        row.body[column.word] |= column.bit
        value = 0
    else:
        row.body[column.word] &= ~column.bit
    if value == old:
        return
    row.body[column.cell] = value
    if column.kind == COPY_OBJECT:
        if value:
            Py_INCREF(<object> <PyObject*> value)
        if old:
            Py_DECREF(<object> <PyObject*> old)


cdef int write_group_list(const GroupListC* groups, SnapshotWriter writer) except -1:
    cdef Py_ssize_t i
    writer.put_i64(groups.n)
    for i in range(groups.n):
        writer.put_u32(groups.group_ids[i])
    return 0


cdef list read_group_list(SnapshotReader reader):
    cdef Py_ssize_t n = <Py_ssize_t> reader.get_i64()
    if n < 0 or n > (reader.size - reader.position) // 4:
        raise ValueError(f"snapshot is damaged: invalid number of groups {n}")
    return [reader.get_u32() for _ in range(n)]  # no-cython-lint
