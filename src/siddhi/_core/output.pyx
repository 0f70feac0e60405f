"""The output of a query: insert into a stream, with query callbacks before it."""

from siddhi._core.chunk cimport chunk_release
from siddhi._core.event cimport CURRENT, EXPIRED, EventC
from siddhi._core.user_event cimport make_event

ctypedef int (*act_fn)(OutputStage stage, EventChunk* chunk) noexcept


cdef class RateLimiter(Processor):
    """Base of output rate limiters."""

    cdef int limit(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        return self.stage.deliver(chunk, last_timestamp)


cdef int act_checked(OutputStage stage, EventChunk* chunk) except -1:
    return stage.act(chunk)


cdef act_fn act_unchecked = <act_fn> act_checked


cdef class OutputStage:
    """Inserts into a stream; without one (``return``) only query callbacks see the events.

    Args:
        app: the app's context.
        pool: of the output records.
        target: junction of the stream, or None.
        leaves_partition: the query is inside a partition and the stream outside.
        always: evaluate the selection even if nobody listens.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, StreamJunction target,
                 bint leaves_partition=False, bint always=False):
        self.app = app
        self.pool = pool
        self.target = target
        self.leaves_partition = leaves_partition
        self.always = always or target is None
        self.callbacks = []

    def add_callback(self, callback):
        """Add a query callback ``fn(timestamp, current, expired)``."""
        self.callbacks = [*self.callbacks, callback]
        self.always = True

    def remove_callback(self, callback):
        """Take a query callback out; unknown ones are ignored."""
        self.callbacks = [other for other in self.callbacks if other is not callback]

    def set_limiter(self, RateLimiter limiter not None):
        """Put a rate limiter between selection and callbacks."""
        limiter.stage = self
        self.limiter = limiter
        self.always = True

    cdef int emit(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        if self.limiter is not None:
            return self.limiter.limit(chunk, last_timestamp)
        return self.deliver(chunk, last_timestamp)

    cdef int deliver(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        cdef int status
        cdef EventC* event
        if self.counting:
            event = chunk.head
            while event is not NULL:
                self.events += 1
                event = event.next
        if self.callbacks:
            self.call_back(chunk, last_timestamp)
        status = act_unchecked(self, chunk)
        chunk_release(chunk, self.pool)
        return status

    cdef int act(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        cdef unsigned int partition
        if self.target is None:
            return 0
        while event is not NULL:
            event.type = CURRENT
            event = event.next
        if not self.leaves_partition:
            return self.target.send(chunk)
        partition = self.app.frame.partition
        self.app.frame.partition = 0
        try:
            self.target.send(chunk)
        finally:
            self.app.frame.partition = partition
        return 0

    cdef int call_back(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        cdef list current = [], expired = []
        cdef EventC* event = chunk.head
        while event is not NULL:
            (expired if event.type == EXPIRED else current).append(make_event(event, self.pool))
            event = event.next
        for callback in self.callbacks:
            try:
                callback(last_timestamp, current or None, expired or None)
            except Exception as error:
                self.app.handle(error, "query callback", current + expired)
        return 0
