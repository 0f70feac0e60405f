# What happens to a chunk a query puts out: rate limiting, query callbacks, then the output action.

from libc.stdint cimport int64_t

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport CURRENT, EventC, EventPool, Layout, release
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.metrics cimport OperationMeter
from siddhi._core.runtime.operator cimport BlockTraits, Processor
from siddhi._core.stream.callback cimport BatchCallback
from siddhi._core.stream.junction cimport StreamFeeder, StreamJunction, send

cdef struct BufferedChunkC:
    EventChunk chunk
    int64_t last_timestamp

cdef struct BufferedOutputC:                  # chunks that wait to go out, in order
    BufferedChunkC* chunks
    Py_ssize_t size
    Py_ssize_t capacity

cdef class RateLimiter(Processor):
    # Takes over the chunk; hands on what is due through QueryOutput.deliver.
    cdef public QueryOutput output
    cdef int limit(self, EventChunk* chunk, int64_t last_timestamp) except -1

cdef class QueryOutput(StreamFeeder):
    cdef readonly AppContext app
    cdef readonly EventPool pool
    cdef readonly Layout layout
    cdef readonly StreamJunction target   # the stream inserted into, or None
    cdef bint always                      # evaluated even if nobody listens: other actions, limiters, side effects
    cdef bint leaves_partition            # a stream outside the partition: its readers work under no key
    cdef list callbacks                   # fn(timestamp, current events or None, expired events or None)
    cdef RateLimiter limiter
    cdef bint counting
    cdef public OperationMeter meter      # of the action, at work while `counting`; None: nobody measures
    cdef public long long events          # put out, while `counting`
    cdef bint plain                       # nothing but insert into the stream, at once
    cdef bint needed                      # somebody can see what the query puts out
    # Of the stream, as it says (see StreamFeeder).
    cdef bint heard
    cdef BatchCallback sink
    cdef bint block_mode
    cdef bint retains
    cdef bint refuses_rows                # a limit may refuse rows of a chunk, and take the others
    cdef Py_ssize_t expected              # rows of a chunk of which `refused` takes those that were, as (number, error)
    cdef list refused                     # None: the first error is raised
    cdef BufferedOutputC* buffered        # where chunks wait, behind the rate limiter; NULL: they go out as they come
    cdef void choose(self) noexcept
    cdef void change(self) noexcept
    cdef int bind_blocks(self, BlockTraits* traits) except -1
    cdef int send_block(self, EventC** events, Py_ssize_t n) except -1             # where `plain`; they stay the caller's
    cdef int emit(self, EventChunk* chunk, int64_t last_timestamp) except -1       # takes over the chunk
    cdef int deliver(self, EventChunk* chunk, int64_t last_timestamp) except -1    # takes over the chunk
    cdef int hold(self, EventChunk* chunk, int64_t last_timestamp) except -1       # takes over the chunk
    cdef int deliver_buffered(self, BufferedOutputC* buffered) except -1
    cdef void drop_buffered(self, BufferedOutputC* buffered) noexcept
    cdef int act_measured(self, EventChunk* chunk) except -1
    cdef int act(self, EventChunk* chunk) except -1                                # the chunk stays the caller's
    cdef int call_back(self, EventChunk* chunk, int64_t last_timestamp) except -1

cdef inline bint is_needed(QueryOutput output) noexcept:
    """Whether the output of the query has a receiver."""
    return output.needed

cdef inline BatchCallback columns_of(QueryOutput output):
    """The callback into whose columns rows of the batch that is being sent can be written; None: there is none.

    Each row stands for a chunk of its own. Who has written rows calls end_rows()."""
    return output.sink if output.plain and output.app.in_batch else None

cdef inline int end_rows(BatchCallback sink) except -1:
    return 0 if sink.waiting else sink.await_flush()

cdef inline int emit_one(QueryOutput output, EventC* event) except -1:
    """Emit a chunk of one event; takes over the event."""
    cdef EventChunk chunk
    if output.plain and output.app.in_batch and output.sink is not None:
        # The batch callback would do no more than this.
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
