"""Fused sliding windows: ``length``, ``time`` and ``externalTime`` with sum, avg and count, keeping arguments only."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.string cimport memset

from siddhi._core.aggregate.accumulator cimport (
    MAX_ARGUMENTS, AccumulatorC, accumulator_value, add_arguments, add_row, remove_arguments, take_arguments,
)
from siddhi._core.aggregate.group cimport GroupBy, end_chunk, find_near, group_near, leave_group
from siddhi._core.columnar.batch cimport BatchBuilder
from siddhi._core.index.hash_index cimport NO_ID
from siddhi._core.query.column cimport COPY_OBJECT, copy_column, write_column
from siddhi._core.query.output cimport columns_of, emit_one, end_rows, is_needed
from siddhi._core.record.event cimport CURRENT, TIMER, Layout, acquire, release
from siddhi._core.record.frame cimport MAX_BLOCK, NULL_VALUE, FrameC, now_ms
from siddhi._core.record.instant cimport check_instant, is_instant, refuse_instant
from siddhi._core.runtime.operator cimport BlockTraits, refuse_blocks
from siddhi._core.runtime.ring cimport compact_ring_first, compact_ring_push, entry_head
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef inline uint32_t pop_oldest(const AccumulatorC* accumulators, int n, CompactRingC* ring, int stride) noexcept:
    """Remove the oldest entry from a ring and from the accumulators; return its group id."""
    cdef const uint64_t* entry = ring.words + ring.head * stride
    cdef uint64_t head = entry[0]
    ring.head = (ring.head + 1) & ring.mask
    ring.size -= 1
    remove_arguments(accumulators, n, <uint32_t> head, entry + 1, <uint32_t> (head >> 32))
    return <uint32_t> head


@cython.final
@cython.no_gc_clear
cdef class SlidingAggregate(Selector):
    """Selector fused with a sliding window. Takes the arguments of :class:`Selector`; an ``over_`` method sets the
    window."""

    def __dealloc__(self):
        PyMem_Free(self.accumulator_of)
        PyMem_Free(self.results)
        PyMem_Free(self.known)

    def over_length(self, int64_t length):
        """Use ``length(n)``, n > 0."""
        self.kind = BY_LENGTH
        self.extent = length
        self.prepare()

    def over_time(self, int64_t duration_ms):
        """Use ``time(t)``; an event expires at exactly that age."""
        self.kind = BY_TIME
        self.extent = duration_ms
        self.prepare()

    def over_attribute(self, int position, Layout layout not None, int64_t duration_ms):
        """Use ``externalTime(ts, t)`` over the long attribute at a position of the stream."""
        self.kind = BY_ATTRIBUTE
        self.extent = duration_ms
        self.attribute = layout.names[position]
        self.cell = layout.cell(position)
        self.word = layout.null_word(position)
        self.bit = (<uint64_t> 1) << (position & 63)
        self.prepare()

    def prepare(self):
        cdef int i
        aggregators = self.states.aggregators if self.groups is None else self.groups.aggregators
        self.accumulators = Accumulators(aggregators)
        self.rings = CompactRings(1 + self.accumulators.n_arguments + (self.kind != BY_LENGTH))
        self.accumulator_of = <int*> PyMem_Malloc(max(1, self.n_columns) * sizeof(int))
        self.results = <uint64_t*> PyMem_Malloc(max(1, self.accumulators.n) * MAX_BLOCK * sizeof(uint64_t))
        self.known = <uint8_t*> PyMem_Malloc(max(1, self.accumulators.n) * MAX_BLOCK)
        if self.accumulator_of is NULL or self.results is NULL or self.known is NULL:
            raise MemoryError
        self.simple = self.having is None and self.ordering is None and self.limit < 0 and self.offset == 0
        for i in range(self.n_columns):
            self.accumulator_of[i] = -1
            if self.columns[i].accumulates:
                self.accumulator_of[i] = self.accumulators.aggregators.index(self.executors[i])
            elif self.columns[i].kind > COPY_OBJECT:
                self.simple = False

    # --- state

    cdef int ensure(self, unsigned int partition) except -1:
        Selector.ensure(self, partition)
        return self.rings.ensure(partition)

    cdef int drop(self, unsigned int partition) except -1:
        Selector.drop(self, partition)
        return self.rings.drop(partition)

    cdef int write(self, SnapshotWriter writer) except -1:
        Selector.write(self, writer)
        return self.rings.write(writer)

    cdef int read(self, SnapshotReader reader) except -1:
        cdef unsigned int i
        cdef Py_ssize_t j
        cdef CompactRingC* ring
        cdef uint32_t group_id
        Selector.read(self, reader)
        self.rings.read(reader)
        for i in range(self.rings.capacity):
            ring = &self.rings.rings[i]
            for j in range(ring.size):
                group_id = <uint32_t> ring.words[j * self.rings.stride]
                if group_id != i if self.groups is None else not self.groups.keys.is_live(group_id):
                    raise ValueError(f"snapshot is damaged: an event has an unknown group ({group_id})")
                if self.kind != BY_LENGTH:
                    check_instant(<int64_t> ring.words[(j + 1) * self.rings.stride - 1], "snapshot is damaged:")
        return 0

    # --- processing of one event

    cdef int expire_oldest(self, CompactRingC* ring) except -1:
        """Expire the oldest event."""
        cdef uint32_t group_id = pop_oldest(self.accumulators.accumulators, self.accumulators.n, ring, self.rings.stride)
        return 0 if self.groups is None else leave_group(self.groups, group_id)

    cdef inline int make_room(self, CompactRingC* ring, int64_t now) except -1:
        """Expire what the next event, or the clock, makes due."""
        cdef int last = self.rings.stride - 1
        if self.kind == BY_LENGTH:
            return self.expire_oldest(ring) if ring.size >= self.extent else 0
        while ring.size and <int64_t> compact_ring_first(self.rings, ring)[last] + self.extent <= now:
            self.expire_oldest(ring)
        if self.kind == BY_TIME and self.groups is not None and self.app.frame.playback and (
                self.out.head is NULL and self.last is NULL and self.n_order == 0):
            # The clock moved before the event arrived: these events expired in a chunk of their own.
            end_chunk(self.groups)
        return 0

    cdef inline uint32_t admit(self, EventC* event, CompactRingC* ring, int64_t time, const uint64_t* values,
                               uint32_t nulls) except? 0xfffffffe:
        """Hold the event and return its group id."""
        cdef FrameC* frame = &self.app.frame
        cdef uint32_t group_id = group_near(self.groups, event, frame) if self.groups is not None else frame.partition
        cdef uint64_t* entry = compact_ring_push(self.rings, ring)
        cdef int k
        entry[0] = entry_head(group_id, nulls)
        for k in range(self.accumulators.n_arguments):
            entry[1 + k] = values[k]
        if self.kind != BY_LENGTH:
            entry[self.rings.stride - 1] = <uint64_t> time
        add_arguments(self.accumulators.accumulators, self.accumulators.n, group_id, values, nulls)
        return group_id

    cdef inline int64_t time_of(self, const EventC* event) except? -1:
        """Return the time from which the event is buffered."""
        if self.kind != BY_ATTRIBUTE:
            return event.timestamp
        if event.body[self.word] & self.bit:
            raise ValueError(f"the time of externalTime, '{self.attribute}', is null: expected ms since 1970")
        if not is_instant(<int64_t> event.body[self.cell]):
            refuse_instant(<int64_t> event.body[self.cell], f"the time of externalTime, '{self.attribute}':")
        return <int64_t> event.body[self.cell]

    cdef inline uint32_t roll(self, EventC* event) except? 0xfffffffe:
        """Advance the window by one event; the frame then holds the event's group."""
        cdef uint64_t[MAX_ARGUMENTS] values
        cdef uint32_t nulls
        cdef FrameC* frame = &self.app.frame
        cdef CompactRingC* ring
        cdef int64_t time = self.time_of(event)
        frame.type = CURRENT
        frame.group = frame.partition
        take_arguments(self.accumulators, event, frame, values, &nulls)
        ring = &self.rings.rings[frame.partition]
        self.make_room(ring, time if self.kind == BY_ATTRIBUTE else now_ms(frame) if self.kind == BY_TIME else 0)
        frame.group = self.admit(event, ring, time, values, nulls)
        frame.type = TIMER
        return frame.group

    cdef inline EventC* fill(self, EventC* event, uint32_t group_id) except NULL:
        """Return the output record of an event, of plain attributes and bare accumulators."""
        cdef EventC* out = acquire(self.pool)
        cdef const AccumulatorC* accumulators = self.accumulators.accumulators
        cdef int i
        out.timestamp = event.timestamp
        for i in range(self.pool.layout.words):
            out.body[i] = 0
        for i in range(self.n_columns):
            if self.accumulator_of[i] < 0:
                write_column(&self.columns[i], event, &self.app.frame, out)
            elif accumulator_value(
                    &accumulators[self.accumulator_of[i]], group_id, &out.body[self.columns[i].cell]) == NULL_VALUE:
                out.body[self.columns[i].word] |= self.columns[i].bit
        return out

    cdef int process_one(self, EventC* event) except -1:
        cdef uint32_t group_id
        cdef EventC* out
        if not self.simple:
            self.process(event)
            return self.finish()
        group_id = self.roll(event)
        if not is_needed(self.output):
            return 0 if self.groups is None else end_chunk(self.groups)
        out = self.fill(event, group_id)
        if self.groups is not None:
            end_chunk(self.groups)
        return emit_one(self.output, out)

    cdef int process(self, EventC* event) except -1:
        cdef uint32_t group_id = self.roll(event)
        cdef EventC* out
        if is_needed(self.output):
            out = self.select(event)
            if out is not NULL:
                out.type = CURRENT
                self.keep(out, group_id)
        return 0

    # --- processing of a block of events, each a chunk of its own

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        cdef bint order_free
        self.output.bind_blocks(traits)
        # In playback a block is processed before the clock has advanced to its rows. That is safe if the rows' own
        # times decide, and if no row can fail and be retried alone.
        order_free = traits.order_free and (
            not self.app.frame.playback or (self.simple and self.accumulators.plain and self.kind != BY_ATTRIBUTE))
        refuse_blocks(traits)
        traits.order_free = order_free
        return 0

    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1:
        cdef Py_ssize_t i
        cdef uint64_t refused = 0          # rows whose time is null or invalid
        cdef BatchCallback sink
        if at[0] == 0 and self.simple and self.accumulators.plain and self.output.plain:
            if self.kind == BY_ATTRIBUTE:
                for i in range(n):
                    refused |= (events[i].body[self.word] & self.bit) | (
                        not is_instant(<int64_t> events[i].body[self.cell]))
            sink = None if refused else columns_of(self.output)
            if sink is not None:
                at[0] = n
                return self.collect_block(events, n, sink)
            if not refused and self.output.block_mode:
                at[0] = n
                return self.pass_block(events, n)
        while at[0] < n:
            self.process_one(events[at[0]])
            at[0] += 1
        return 0

    cdef int slide(self, EventC** events, Py_ssize_t n, uint64_t** data, uint8_t** valid) except -1:
        """Process a block; the value of accumulator m after each event goes to data[m][row].

        First what rows determine by themselves, for all rows: arguments, and groups by the address of their key. Then,
        row by row, what depends on earlier rows. Divisions come last, again for all rows.
        """
        cdef Accumulators taken = self.accumulators
        cdef const AccumulatorC* accumulators = taken.accumulators
        cdef const uint64_t* values = taken.values
        cdef CompactRings rings = self.rings
        cdef GroupBy groups = self.groups
        cdef FrameC* frame = &self.app.frame
        cdef CompactRingC* ring = &rings.rings[frame.partition]
        cdef uint32_t group_ids[MAX_BLOCK]
        cdef uint64_t* entry
        cdef Py_ssize_t j
        cdef int k, n_accumulators = taken.n, n_arguments = taken.n_arguments, stride = rings.stride
        cdef uint32_t group_id = frame.partition
        cdef bint timed = self.kind != BY_LENGTH, steady = True
        cdef Py_ssize_t size = 0
        cdef int64_t time = 0, extent = self.extent, now = now_ms(frame) if self.kind == BY_TIME else 0
        frame.type = CURRENT
        frame.group = frame.partition
        taken.take_block(events, n)
        if groups is not None:
            find_near(groups, events, n, group_ids)
            size = groups.keys.size
        for j in range(n):
            if timed:
                if self.kind == BY_ATTRIBUTE:
                    time = now = <int64_t> events[j].body[self.cell]
                else:
                    time = events[j].timestamp
                    if time > now and frame.playback:
                        now = time
                if ring.size and <int64_t> compact_ring_first(rings, ring)[stride - 1] + extent <= now:
                    self.make_room(ring, now)
                    # Groups may have been dropped, and their ids reused by new groups.
                    steady = steady and (groups is None or groups.keys.size == size)
            elif ring.size >= extent:
                group_id = pop_oldest(accumulators, n_accumulators, ring, stride)
                if groups is not None:
                    leave_group(groups, group_id)
            if groups is not None:
                group_id = group_ids[j]
                if group_id != NO_ID and steady:
                    groups.row_counts[group_id] += 1
                else:
                    group_id = group_near(groups, events[j], frame)
                    size = groups.keys.size
            entry = compact_ring_push(rings, ring)
            entry[0] = entry_head(group_id, taken.nulls[j])
            for k in range(n_arguments):
                entry[1 + k] = values[k * MAX_BLOCK + j]
            if timed:
                entry[stride - 1] = <uint64_t> time
            add_row(accumulators, n_accumulators, group_id, values, taken.nulls[j], j, data, taken.counts)
            if groups is not None and groups.n_dropping:
                end_chunk(groups)
                steady = False
        taken.finish_block(n, data, valid)
        return 0

    cdef int collect_block(self, EventC** events, Py_ssize_t n, BatchCallback sink) except -1:
        """Write rows into the columns of the batch callback after this query."""
        cdef BatchBuilder builder = sink.builder
        cdef Py_ssize_t j, row = builder.size
        cdef uint64_t* data[MAX_BLOCK]
        cdef uint8_t* valid[MAX_BLOCK]
        cdef int i, m
        while builder.capacity - row < n:
            builder.grow()
        for m in range(self.accumulators.n):
            data[m] = self.results + m * MAX_BLOCK
            valid[m] = self.known + m * MAX_BLOCK
        for i in range(self.n_columns):
            if self.accumulator_of[i] >= 0:
                data[self.accumulator_of[i]] = <uint64_t*> builder.data[i] + row
                valid[self.accumulator_of[i]] = builder.valid[i] + row
        self.slide(events, n, data, valid)
        for i in range(self.n_columns):
            if self.accumulator_of[i] < 0:
                copy_column(&self.columns[i], events, n, self.pool.layout.codes[i],
                            builder.data[i], builder.valid[i], row)
        for j in range(n):
            builder.timestamps[row + j] = events[j].timestamp
        builder.size = row + n
        return end_rows(sink)

    cdef int pass_block(self, EventC** events, Py_ssize_t n) except -1:
        """Pass a block of records to the readers of the target stream."""
        cdef EventC* out[MAX_BLOCK]
        cdef uint64_t* data[MAX_BLOCK]
        cdef uint8_t* valid[MAX_BLOCK]
        cdef Py_ssize_t j, made = 0
        cdef int i, m
        for m in range(self.accumulators.n):
            data[m] = self.results + m * MAX_BLOCK
            valid[m] = self.known + m * MAX_BLOCK
        memset(self.known, 1, self.accumulators.n * MAX_BLOCK)
        self.slide(events, n, data, valid)
        try:
            while made < n:
                out[made] = acquire(self.pool)
                out[made].timestamp = events[made].timestamp
                for i in range(self.pool.layout.words):
                    out[made].body[i] = 0
                made += 1
            for i in range(self.n_columns):
                m = self.accumulator_of[i]
                for j in range(n):
                    if m < 0:
                        write_column(&self.columns[i], events[j], &self.app.frame, out[j])
                    else:
                        out[j].body[self.columns[i].cell] = data[m][j]
                        if not valid[m][j]:
                            out[j].body[self.columns[i].word] |= self.columns[i].bit
            return self.output.send_block(out, n)
        finally:
            for j in range(made):
                release(self.pool, out[j])
