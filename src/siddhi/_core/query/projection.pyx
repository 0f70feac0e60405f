"""Stateless selection."""

cimport cython
from cpython.mem cimport PyMem_Free
from libc.stdint cimport uint64_t
from libc.string cimport memset

from siddhi._core.columnar.batch cimport BatchBuilder
from siddhi._core.query.column cimport (
    COMPUTE, COMPUTE_OBJECT, COPY_OBJECT, compute_column, copy_column, borrow_column, make_columns, write_columns,
    write_row,
)
from siddhi._core.query.output cimport columns_of, emit_one, end_rows, is_needed
from siddhi._core.record.chunk cimport chunk_append, chunk_clear, chunk_release
from siddhi._core.record.event cimport CURRENT, acquire, release
from siddhi._core.record.frame cimport MAX_BLOCK
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport BlockTraits, refuse_blocks


@cython.final
@cython.no_gc_clear
cdef class Projection(Processor):
    """Select clause of a query without aggregates: emits each current event by itself.

    Args:
        app: context of the app.
        pool: pool of the output's records.
        executors: one per output attribute.
        source: pool of the stream's records if the query reads them directly, else None.
        output: receives the chunks.
        pure: no column calls Python.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, tuple executors not None, EventPool source,
                 QueryOutput output not None, bint pure=False):
        cdef int i
        self.app = app
        self.frame = &app.frame
        self.pool = pool
        self.executors = executors
        self.n_columns = len(executors)
        self.columns = make_columns(executors, pool.layout)
        self.output = output
        self.forwards = source is pool and self.n_columns == pool.layout.width
        for i in range(self.n_columns):
            if self.columns[i].kind > COPY_OBJECT or self.columns[i].source_cell != self.columns[i].cell:
                self.forwards = False
        self.pure = pure
        self.copies = self.prefix = True
        for i in range(self.n_columns):
            if self.columns[i].kind > COPY_OBJECT:
                self.copies = False
            if self.columns[i].source_cell != self.columns[i].cell or self.columns[i].cell != i + 1 or i > 62:
                self.prefix = False
            if self.columns[i].kind == COMPUTE_OBJECT:
                self.pure = False
        self.forward = output if self.forwards else None
        self.inserts = output if output.refuses_rows else None
        chunk_clear(&self.out)

    def __dealloc__(self):
        if self.pool is not None:
            self.abort()
        PyMem_Free(self.columns)

    cdef void abort(self) noexcept:
        chunk_release(&self.out, self.pool)

    cdef EventC* project(self, EventC* event) except NULL:
        cdef EventC* out = acquire(self.pool)
        cdef int i
        cdef bint done = False
        out.timestamp = event.timestamp
        for i in range(self.pool.layout.words):
            out.body[i] = 0
        self.frame.type = CURRENT
        self.frame.group = self.frame.partition
        try:
            write_columns(self.columns, self.n_columns, event, self.frame, out)
            done = True
        finally:
            if not done:
                release(self.pool, out)
        return out

    cdef int process_one(self, EventC* event) except -1:
        if event.type != CURRENT or not is_needed(self.output):
            return 0
        if self.forwards:
            # It is the only event of the sender's chunk, so it can be in this chunk, too. Borrowed objects stay
            # borrowed: the sender waits, and an operator that keeps the record takes references.
            event.refs += 1
            return emit_one(self.output, event)
        return emit_one(self.output, self.project(event))

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        cdef bint order_free
        self.output.bind_blocks(traits)
        # Copies of plain attributes cannot fail and go into new records. Forwarded records are retained if the stream's
        # receivers retain them.
        cdef bint retains = not (self.copies and traits.takes and not (self.forwards and traits.retains))
        # In playback a row that fails, or reads the clock, could not be processed alone.
        order_free = traits.order_free and (self.copies or not self.app.frame.playback)
        refuse_blocks(traits)
        traits.order_free, traits.retains = order_free, retains
        return 0

    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1:
        cdef EventC* out[MAX_BLOCK]
        cdef Py_ssize_t made = 0, i
        cdef BatchCallback sink
        if not is_needed(self.output):
            at[0] = n
            return 0
        if self.output.plain and at[0] == 0:
            if self.forwards and self.output.block_mode:
                at[0] = n
                return self.output.send_block(events, n)
            sink = columns_of(self.output) if self.pure else None
            if sink is not None:
                try:
                    self.collect_block(events, n, sink)
                    at[0] = n
                    return 0
                except Exception:
                    pass  # some row fails; processing rows one by one below shows which
            elif self.output.block_mode and self.copies:
                at[0] = n
                if self.prefix and not self.output.retains:
                    return self.output.send_block(events, n)
                return self.send_borrowed(events, n)
            elif self.output.block_mode:
                try:
                    while at[0] < n:
                        out[made] = self.project(events[at[0]])
                        made += 1
                        at[0] += 1
                finally:
                    # Rows before a failing one are passed on; the caller continues after it.
                    try:
                        self.output.send_block(out, made)
                    finally:
                        for i in range(made):
                            release(self.pool, out[i])
                return 0
        while at[0] < n:
            self.process_one(events[at[0]])
            at[0] += 1
        return 0

    cdef int send_borrowed(self, EventC** events, Py_ssize_t n) except -1:
        """Send new records that borrow the objects of the events; an operator that keeps a record takes references."""
        cdef EventC* out[MAX_BLOCK]
        cdef Py_ssize_t i
        cdef int k
        cdef uint64_t mask
        self.pool.borrow_block(out, n)
        if self.prefix:
            mask = (<uint64_t> 1 << self.n_columns) - 1
            for i in range(n):
                out[i].timestamp = events[i].timestamp
                out[i].body[0] = events[i].body[0] & mask
                for k in range(1, 1 + self.n_columns):
                    out[i].body[k] = events[i].body[k]
        else:
            for i in range(n):
                out[i].timestamp = events[i].timestamp
                for k in range(self.pool.layout.words):
                    out[i].body[k] = 0
            for k in range(self.n_columns):
                borrow_column(&self.columns[k], events, n, out)
        try:
            return self.output.send_block(out, n)
        finally:
            self.pool.release_block(out, n)

    cdef int collect_block(self, EventC** events, Py_ssize_t n, BatchCallback sink) except -1:
        """Write rows into the columns of the batch callback after this query. On failure no row is collected."""
        cdef BatchBuilder builder = sink.builder
        cdef int i
        cdef Py_ssize_t j, row = builder.size
        cdef bint done = False
        while builder.capacity - row < n:
            builder.grow()
        self.frame.type = CURRENT
        self.frame.group = self.frame.partition
        try:
            for i in range(self.n_columns):
                if self.columns[i].kind >= COMPUTE:
                    compute_column(&self.columns[i], events, n, self.frame, self.pool.layout.codes[i],
                                   builder.data[i], builder.valid[i], row)
            done = True
        finally:
            if not done:
                for i in range(self.n_columns):
                    memset(builder.valid[i] + row, 1, n)
        # Nothing fails from here on: copies come last because they add references.
        for i in range(self.n_columns):
            if self.columns[i].kind < COMPUTE:
                copy_column(&self.columns[i], events, n, self.pool.layout.codes[i],
                            builder.data[i], builder.valid[i], row)
        for j in range(n):
            builder.timestamps[row + j] = events[j].timestamp
        builder.size = row + n
        return end_rows(sink)

    def collect_at_once(self):
        """Write rows into the columns of a batch callback as they arrive. Requires that no row of a chunk can fail."""
        self.at_once = True

    cdef int process(self, EventC* event) except -1:
        cdef BatchCallback sink
        if event.type == CURRENT and is_needed(self.output):
            sink = columns_of(self.output) if self.at_once else None
            if sink is not None and not sink.chunked:
                self.frame.type = CURRENT
                self.frame.group = self.frame.partition
                write_row(self.columns, self.n_columns, event, self.frame, sink.builder)
                return end_rows(sink)
            chunk_append(&self.out, self.project(event))
        return 0

    cdef int reset(self, int64_t timestamp) except -1:
        return 0

    cdef int finish(self) except -1:
        cdef EventChunk chunk
        if self.out.head is NULL:
            return 0
        chunk = self.out
        chunk_clear(&self.out)
        return self.output.emit(&chunk, chunk.tail.timestamp)
