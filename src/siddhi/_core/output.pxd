# What happens to a chunk a query puts out: rate limiting, query callbacks, then the output action.

from libc.stdint cimport int64_t

from siddhi._core.chunk cimport EventChunk
from siddhi._core.context cimport AppContext
from siddhi._core.event cimport EventPool
from siddhi._core.junction cimport StreamJunction
from siddhi._core.processor cimport Processor

cdef class RateLimiter(Processor):
    # Takes over the chunk; hands on what is due through OutputStage.deliver.
    cdef public OutputStage stage
    cdef int limit(self, EventChunk* chunk, int64_t last_timestamp) except -1

cdef class OutputStage:
    cdef readonly AppContext app
    cdef readonly EventPool pool
    cdef readonly StreamJunction target   # the stream inserted into, or None
    cdef bint always                      # evaluated even if nobody listens: other actions, limiters, side effects
    cdef bint leaves_partition            # a stream outside the partition: its readers work under no key
    cdef list callbacks                   # fn(timestamp, current events or None, expired events or None)
    cdef public RateLimiter limiter
    cdef public bint counting
    cdef public long long events          # put out, while `counting`
    cdef int emit(self, EventChunk* chunk, int64_t last_timestamp) except -1       # takes over the chunk
    cdef int deliver(self, EventChunk* chunk, int64_t last_timestamp) except -1    # takes over the chunk
    cdef int act(self, EventChunk* chunk) except -1                                # the chunk stays the caller's
    cdef int call_back(self, EventChunk* chunk, int64_t last_timestamp) except -1

cdef inline bint is_needed(OutputStage output) noexcept:
    """Whether anybody can see what the query puts out."""
    return output.always or output.target.n != 0 or output.target.counting
