"""Selection without memory."""

cimport cython
from cpython.mem cimport PyMem_Free

from siddhi._core.chunk cimport chunk_append, chunk_clear, chunk_release
from siddhi._core.column_op cimport COPY, COPY_OBJECT, make_columns, write_columns
from siddhi._core.context cimport AppContext
from siddhi._core.event cimport CURRENT, acquire, release
from siddhi._core.output cimport emit_one, is_needed


@cython.final
@cython.no_gc_clear
cdef class Projection(Processor):
    """Select clause of a query that aggregates nothing and puts out current events, each for itself.

    Args:
        app: the app's context.
        pool: pool of the output's records.
        executors: one per output attribute.
        source: pool of the stream's own records where the query reads them directly, else None.
        output: where chunks go.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, tuple executors not None, EventPool source,
                 OutputStage output not None):
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
            # It is alone in the sender's chunk, so that it can be in this one, too. Objects it borrows stay borrowed: the
            # sender waits, and who keeps the record takes them over.
            event.refs += 1
            return emit_one(self.output, event)
        return emit_one(self.output, self.project(event))

    cdef int process(self, EventC* event) except -1:
        if event.type == CURRENT and is_needed(self.output):
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
