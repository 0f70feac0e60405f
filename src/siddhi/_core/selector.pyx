"""The selector of a query."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.string cimport memset

from siddhi._core.aggregator_states cimport AggregatorStates
from siddhi._core.chunk cimport chunk_append, chunk_clear, chunk_release
from siddhi._core.context cimport AppContext
from siddhi._core.event cimport BOOL, CURRENT, EXPIRED, OBJECT, STRING, CellC, Layout, acquire, release
from siddhi._core.executor cimport NULL_VALUE, TRUE, VARIABLE, FrameC, evaluate_condition
from siddhi._core.order cimport ChunkOrder
from siddhi._core.output cimport is_needed
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter

ctypedef int (*unchecked_fn)(const ExecC* x, EventC* e, FrameC* f, void* out) noexcept


@cython.no_gc_clear
cdef class Selector(Processor):
    """Select clause, group by, having, order by, limit and offset of one query.

    Args:
        app: the app's context.
        pool: pool of the output's records.
        executors: one per output attribute.
        aggregate_columns: which of them contain aggregators.
        aggregators: all aggregators of the clause, having included.
        groups: the group by, or None.
        mode: SelectMode.
        wants_current, wants_expired: which events are put out.
        having: condition over the output, or None.
        ordering: ChunkOrder or None.
        limit, offset: -1 and 0 for none.
        output: where chunks go.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, tuple executors not None, aggregate_columns,
                 list aggregators not None, GroupBy groups, int mode, bint wants_current, bint wants_expired,
                 Executor having, ordering, Py_ssize_t limit, Py_ssize_t offset, OutputStage output not None):
        cdef int i
        cdef Executor executor
        cdef Layout layout = pool.layout
        cdef ColumnC* column
        self.app = app
        self.pool = pool
        self.executors = executors
        self.n_columns = len(executors)
        self.columns = <ColumnC*> PyMem_Malloc(max(1, self.n_columns) * sizeof(ColumnC))
        if self.columns is NULL:
            raise MemoryError
        for i in range(self.n_columns):
            executor = executors[i]
            column = &self.columns[i]
            column.x = &executor.c
            column.aggregates = aggregate_columns[i]
            column.source_cell, column.source_word, column.source_bit = executor.c.cell, executor.c.word, executor.c.bit
            column.cell = layout.cell(i)
            column.word = layout.null_word(i)
            column.bit = (<uint64_t> 1) << (i & 63)
            if executor.kind == VARIABLE:
                column.kind = COPY_OBJECT if executor.type in (STRING, OBJECT) else COPY
            elif executor.type in (STRING, OBJECT):
                column.kind = COMPUTE_OBJECT
            else:
                column.kind = COMPUTE_BOOL if executor.type == BOOL else COMPUTE
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
        chunk_clear(&self.out)

    def __dealloc__(self):
        if self.pool is not None:
            self.abort()
        PyMem_Free(self.columns)
        PyMem_Free(self.last_of_group)
        PyMem_Free(self.order)

    cdef void abort(self) noexcept:
        cdef Py_ssize_t i
        if self.last is not NULL:
            release(self.pool, self.last)
            self.last = NULL
        for i in range(self.n_order):
            if self.last_of_group[self.order[i]] is not NULL:
                release(self.pool, self.last_of_group[self.order[i]])
                self.last_of_group[self.order[i]] = NULL
        self.n_order = 0
        chunk_release(&self.out, self.pool)

    cdef int ensure(self, unsigned int partition) except -1:
        return 0 if self.states is None else self.states.ensure(partition)

    cdef int drop(self, unsigned int partition) except -1:
        if self.groups is not None:
            self.groups.drop_partition(partition)
        else:
            self.states.drop(partition)
        return 0

    cdef int process(self, EventC* event) except -1:
        cdef FrameC* frame = &self.app.frame
        cdef EventC* out
        cdef uint32_t slot = frame.partition
        cdef bint wanted
        cdef int status
        frame.type = event.type
        self.last_timestamp = event.timestamp
        if self.groups is not None:
            slot = self.groups.slot_of(event, frame)
        frame.group = slot
        wanted = self.wants_current if event.type == CURRENT else self.wants_expired
        if wanted and is_needed(self.output):
            out = acquire(self.pool)
            out.timestamp = event.timestamp
            out.type = event.type
            if self.evaluate_unchecked(event, out) == -1:
                release(self.pool, out)
                return -1
            if self.having is not None:
                frame.output = out
                status = (<unchecked_fn> self.having.c.fn)(&self.having.c, event, frame, NULL)
                if status != TRUE:
                    release(self.pool, out)
                    out = NULL
                    if status == -1:
                        return -1
            if out is not NULL:
                self.keep(out, slot)
        elif self.has_aggregates:
            self.update(event)
        if self.groups is not None and event.type == EXPIRED:
            self.groups.leave_group(slot)
        return 0

    cdef int evaluate_unchecked(self, EventC* event, EventC* out) noexcept:
        """Write all columns. -1: a Python exception is set and the output is to be released."""
        cdef int i, status
        cdef ColumnC* column
        cdef FrameC* frame = &self.app.frame
        cdef PyObject* value
        for i in range(self.pool.layout.words):
            out.body[i] = 0
        for i in range(self.n_columns):
            column = &self.columns[i]
            if column.kind == COPY:
                out.body[column.cell] = event.body[column.source_cell]
                if event.body[column.source_word] & column.source_bit:
                    out.body[column.word] |= column.bit
            elif column.kind == COPY_OBJECT:
                if event.body[column.source_word] & column.source_bit:
                    out.body[column.word] |= column.bit
                else:
                    value = <PyObject*> event.body[column.source_cell]
                    Py_INCREF(<object> value)
                    out.body[column.cell] = <uint64_t> value
            else:
                if column.kind == COMPUTE_OBJECT:
                    status = (<unchecked_fn> column.x.fn)(column.x, event, frame, &value)
                    if status == -1:
                        return -1
                    if status != NULL_VALUE:
                        Py_INCREF(<object> value)
                        out.body[column.cell] = <uint64_t> value
                elif column.kind == COMPUTE:
                    status = (<unchecked_fn> column.x.fn)(column.x, event, frame, &out.body[column.cell])
                    if status == -1:
                        return -1
                else:
                    status = (<unchecked_fn> column.x.fn)(column.x, event, frame, NULL)
                    if status == -1:
                        return -1
                    (<int*> &out.body[column.cell])[0] = status == TRUE
                if status == NULL_VALUE:
                    out.body[column.word] |= column.bit
        return 0

    cdef int update(self, EventC* event) except -1:
        """Let the aggregators see an event that is not put out."""
        cdef int i
        cdef CellC unused
        for i in range(self.n_columns):
            if self.columns[i].aggregates:
                self.columns[i].x.fn(self.columns[i].x, event, &self.app.frame, &unused)
        return 0

    cdef int keep(self, EventC* out, uint32_t slot) except -1:
        if self.mode == EACH:
            chunk_append(&self.out, out)
        elif self.mode == LAST:
            if self.last is not NULL:
                release(self.pool, self.last)
            self.last = out
        else:
            if slot >= self.group_capacity or self.n_order >= self.group_capacity:
                self.grow(max(slot, self.n_order))
            if self.last_of_group[slot] is NULL:
                self.order[self.n_order] = slot
                self.n_order += 1
            else:
                release(self.pool, self.last_of_group[slot])
            self.last_of_group[slot] = out
        return 0

    cdef int grow(self, uint32_t slot) except -1:
        cdef Py_ssize_t capacity = max(16, 2 * self.group_capacity, <Py_ssize_t> slot + 1)
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
        self.last_timestamp = timestamp
        if self.groups is not None:
            return self.groups.reset(self.app.frame.partition)
        return self.states.reset_partition(self.app.frame.partition)

    cdef int finish(self) except -1:
        cdef EventChunk chunk
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
        if self.groups is not None:
            self.groups.end_chunk()
        if self.out.head is NULL:
            return 0
        # Detached first: what follows may send into this query again.
        chunk = self.out
        chunk_clear(&self.out)
        if self.ordering is not None or self.limit >= 0 or self.offset > 0:
            self.arrange(&chunk)
            if chunk.head is NULL:
                return 0
        return self.output.emit(&chunk, self.last_timestamp)

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
