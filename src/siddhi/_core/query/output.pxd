# Output of a query: rate limiting, query callbacks, then the output action.

from libc.stdint cimport int64_t

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport CURRENT, EventC, EventPool, Layout, release
from siddhi._core.runtime.context cimport AppContext, OperationMeter
from siddhi._core.runtime.operator cimport BlockTraits, Processor, Receiver
from siddhi._core.stream.callback cimport BatchCallback
from siddhi._core.stream.junction cimport StreamFeeder, StreamJunction, send

cdef struct BufferedChunkC:
    EventChunk chunk
    int64_t last_timestamp

cdef struct BufferedOutputC:                  # chunks waiting to be emitted, in order
    BufferedChunkC* chunks
    Py_ssize_t size
    Py_ssize_t capacity

cdef class RateLimiter(Processor):
    # Consumes the chunk; passes on what is due through QueryOutput.deliver.
    cdef public QueryOutput output
    cdef int limit(self, EventChunk* chunk, int64_t last_timestamp) except -1

cdef class OutputTap:
    # A query callback that gets records. Borrows the chunk.
    cdef int take(self, EventChunk* chunk, int64_t last_timestamp) except -1

cdef class ReceiverTap(OutputTap):
    cdef readonly Receiver receiver

cdef class QueryOutput(StreamFeeder):
    cdef readonly AppContext app
    cdef readonly EventPool pool
    cdef readonly Layout layout
    cdef readonly StreamJunction target   # target stream, or None
    cdef bint always                      # evaluated even without readers: other actions, limiters, side effects
    cdef bint leaves_partition            # target outside the partition: its readers run under no key
    cdef list callbacks                   # fn(timestamp, current events or None, expired events or None), or OutputTap
    cdef object debugger                  # fn(events), behind the callbacks: the rows that go on in their place
    cdef RateLimiter limiter
    cdef bint counting
    cdef public OperationMeter meter      # of the action, active while `counting`; None: not measured
    cdef public long long events          # emitted while `counting`
    cdef bint plain                       # only inserts into the stream, immediately
    cdef bint needed                      # the output has a reader
    # State of the stream, reported by it (see StreamFeeder).
    cdef bint heard
    cdef BatchCallback sink
    cdef bint block_mode
    cdef bint retains
    cdef bint refuses_rows          # a limit may refuse single rows of a chunk
    cdef Py_ssize_t expected        # number of rows of the chunk whose refusals go to `refused`, as (number, error)
    cdef list refused               # None: the first error is raised
    cdef BufferedOutputC* buffered  # buffer for chunks after the rate limiter; NULL: they are emitted immediately
    cdef void choose(self) noexcept
    cdef void change(self) noexcept
    cdef int bind_blocks(self, BlockTraits* traits) except -1
    cdef int send_block(self, EventC** events, Py_ssize_t n) except -1  # requires `plain`; the caller keeps its references
    cdef int emit(self, EventChunk* chunk, int64_t last_timestamp) except -1       # consumes the chunk
    cdef int deliver(self, EventChunk* chunk, int64_t last_timestamp) except -1    # consumes the chunk
    cdef int hold(self, EventChunk* chunk, int64_t last_timestamp) except -1       # consumes the chunk
    cdef int deliver_buffered(self, BufferedOutputC* buffered) except -1
    cdef void drop_buffered(self, BufferedOutputC* buffered) noexcept
    cdef int act_measured(self, EventChunk* chunk) except -1
    cdef int act(self, EventChunk* chunk) except -1                                # borrows the chunk
    cdef int call_back(self, EventChunk* chunk, int64_t last_timestamp) except -1
    cdef int stop(self, EventChunk* chunk) except -1

cdef tuple divided(EventChunk* chunk, EventPool pool, Layout layout)
cdef int call_function(function, AppContext app, int64_t last_timestamp, list current, list expired) except -1

cdef inline bint is_needed(QueryOutput output) noexcept:
    """Return whether the output of the query has a reader."""
    return output.needed

cdef inline BatchCallback columns_of(QueryOutput output):
    """Return the callback into whose columns rows of the current batch can be written; None: there is none.

    Each row is a chunk of its own. A caller that has written rows must call end_rows()."""
    return output.sink if output.plain and output.app.in_batch else None

cdef inline int end_rows(BatchCallback sink) except -1:
    return 0 if sink.waiting else sink.await_flush()

cdef inline int emit_one(QueryOutput output, EventC* event) except -1:
    """Emit a chunk of one event. Consumes the event."""
    cdef EventChunk chunk
    if output.plain and output.app.in_batch and output.sink is not None:
        # The batch callback does no more than this.
        event.type = CURRENT
        try:
            return output.sink.collect(event)
        finally:
            release(output.pool, event)
    chunk.head = event
    chunk.tail = event
    if not output.plain:
        return output.emit(&chunk, event.timestamp)
    event.type = CURRENT
    try:
        return send(output.target, &chunk)
    finally:
        release(output.pool, event)
