"""Output of a query: query callbacks, then insertion into a stream."""

from cpython.mem cimport PyMem_Realloc

from siddhi._core.record.chunk cimport chunk_release
from siddhi._core.record.event cimport CURRENT, EXPIRED, EventC
from siddhi._core.record.user_event cimport make_event
from siddhi._core.runtime.operator cimport refuse_blocks


cdef class RateLimiter(Processor):
    """Base class of output rate limiters."""

    cdef int limit(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        return self.output.deliver(chunk, last_timestamp)


cdef class QueryOutput:
    """Inserts into a stream; without a target (``return``) only query callbacks see the events.

    Args:
        app: context of the app.
        pool: of the output records.
        layout: names and types of the output.
        target: junction of the stream, or None.
        leaves_partition: the query is inside a partition and the stream outside.
        always: evaluate the selection even without readers.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, Layout layout not None, StreamJunction target,
                 bint leaves_partition=False, bint always=False):
        self.app = app
        self.pool = pool
        self.layout = layout
        self.target = target
        self.leaves_partition = leaves_partition
        self.always = always or target is None
        self.callbacks = []
        self.retains = True
        self.choose()
        if target is not None:
            target.feeders.append(self)
            target.tell_feeders()

    cdef void choose(self) noexcept:
        self.plain = (self.target is not None and not self.callbacks and self.limiter is None and not self.counting
                      and not self.leaves_partition and self.buffered is NULL)
        self.needed = self.always or self.heard

    cdef void follow(self, bint heard, BatchCallback sink, bint block_mode, bint retains) noexcept:
        self.heard, self.sink, self.block_mode, self.retains = heard, sink, block_mode, retains
        self.needed = self.always or heard

    cdef void change(self) noexcept:
        # Invalidates what the operators before know about this output.
        self.choose()
        self.app.wiring += 1

    def add_callback(self, callback):
        """Add a query callback ``fn(timestamp, current, expired)``."""
        self.callbacks = [*self.callbacks, callback]
        self.always = True
        self.change()

    def remove_callback(self, callback):
        """Remove a query callback; ignore unknown ones."""
        self.callbacks = [other for other in self.callbacks if other is not callback]
        self.change()

    def set_limiter(self, RateLimiter limiter not None):
        """Set a rate limiter between selection and callbacks."""
        limiter.output = self
        self.limiter = limiter
        self.always = True
        self.change()

    def set_counting(self, bint counting):
        """Switch the counting of emitted events."""
        self.counting = counting
        self.change()

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        refuse_blocks(traits)
        return 0 if self.target is None or not self.plain else self.target.bind_blocks(traits)

    cdef int send_block(self, EventC** events, Py_ssize_t n) except -1:
        return self.target.send_block(events, n)

    cdef int emit(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        if self.limiter is not None:
            return self.limiter.limit(chunk, last_timestamp)
        return self.deliver(chunk, last_timestamp)

    cdef int deliver(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        cdef EventC* event
        if self.buffered is not NULL:
            return self.hold(chunk, last_timestamp)
        try:
            if self.counting:
                event = chunk.head
                while event is not NULL:
                    self.events += 1
                    event = event.next
            if self.callbacks:
                self.call_back(chunk, last_timestamp)
            if self.meter is not None and self.counting:
                return self.act_measured(chunk)
            return self.act(chunk)
        finally:
            chunk_release(chunk, self.pool)

    cdef int hold(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        cdef BufferedOutputC* buffered = self.buffered
        cdef BufferedChunkC* chunks
        cdef Py_ssize_t capacity
        if buffered.size == buffered.capacity:
            capacity = max(8, 2 * buffered.capacity)
            chunks = <BufferedChunkC*> PyMem_Realloc(buffered.chunks, capacity * sizeof(BufferedChunkC))
            if chunks is NULL:
                chunk_release(chunk, self.pool)
                raise MemoryError
            buffered.chunks = chunks
            buffered.capacity = capacity
        buffered.chunks[buffered.size].chunk = chunk[0]
        buffered.chunks[buffered.size].last_timestamp = last_timestamp
        buffered.size += 1
        return 0

    cdef int deliver_buffered(self, BufferedOutputC* buffered) except -1:
        """Emit buffered chunks one by one. They may cause more output meanwhile. On failure the remaining chunks are
        dropped."""
        cdef Py_ssize_t i = 0
        try:
            while i < buffered.size:
                i += 1
                self.deliver(&buffered.chunks[i - 1].chunk, buffered.chunks[i - 1].last_timestamp)
        finally:
            while i < buffered.size:
                chunk_release(&buffered.chunks[i].chunk, self.pool)
                i += 1
            buffered.size = 0
        return 0

    cdef void drop_buffered(self, BufferedOutputC* buffered) noexcept:
        while buffered.size > 0:
            buffered.size -= 1
            chunk_release(&buffered.chunks[buffered.size].chunk, self.pool)

    cdef int act_measured(self, EventChunk* chunk) except -1:
        cdef int64_t start = self.meter.begin(), n = 0
        cdef EventC* event = chunk.head
        while event is not NULL:
            n += 1
            event = event.next
        try:
            return self.act(chunk)
        finally:
            self.meter.end(start, n)

    cdef int act(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        cdef unsigned int partition
        if self.target is None:
            return 0
        while event is not NULL:
            event.type = CURRENT
            event = event.next
        if not self.leaves_partition:
            return send(self.target, chunk)
        partition = self.app.frame.partition
        self.app.frame.partition = 0
        try:
            send(self.target, chunk)
        finally:
            self.app.frame.partition = partition
        return 0

    cdef int call_back(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        cdef list current = [], expired = []
        cdef EventC* event = chunk.head
        while event is not NULL:
            (expired if event.type == EXPIRED else current).append(make_event(event, self.pool, self.layout))
            event = event.next
        for callback in self.callbacks:
            try:
                answer = callback(last_timestamp, current or None, expired or None)
            except Exception as error:
                if self.app.passes_on(error):
                    raise error
                self.app.handle(error, "query callback", current + expired)
            else:
                if answer is not None:
                    self.app.refuse_coroutine(answer, "query callback", current + expired)
        return 0
