"""Output of a query: query callbacks, then insertion into a stream."""

cimport cython
from cpython.mem cimport PyMem_Realloc

from siddhi._core.record.chunk cimport chunk_clear, chunk_release
from siddhi._core.record.event cimport CURRENT, EXPIRED, EventC
from siddhi._core.record.user_event cimport make_event, make_events, replace_values
from siddhi._core.runtime.operator cimport Receiver, refuse_blocks
from siddhi._core.runtime.sampler cimport Meter, Sampler, SpanC, profiling, sampler_here


cdef class RateLimiter(Processor):
    """Base class of output rate limiters."""

    cdef int limit(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        return self.output.deliver(chunk, last_timestamp)


cdef inline bint is_plain(QueryOutput output) noexcept:
    return (output.target is not None and not output.callbacks and output.debugger is None and output.limiter is None
            and not output.counting and not output.leaves_partition and output.buffered is NULL)


cdef int emit_sampled(QueryOutput output, EventChunk* chunk, int64_t last_timestamp) except -1:
    """Emit a chunk and measure it where the unit is sampled."""
    cdef Sampler sampler = sampler_here()
    cdef SpanC span
    cdef Meter meter
    if sampler is not None:
        meter = sampler.meter_of(output, "output", None)
        count(sampler, meter, chunk, True)
        sampler.open_span(meter, &span)
    try:
        if output.limiter is not None:
            return output.limiter.limit(chunk, last_timestamp)
        return output.deliver(chunk, last_timestamp)
    finally:
        if sampler is not None:
            sampler.close_span(&span)


cdef int count(Sampler sampler, Meter meter, const EventChunk* chunk, bint arriving) except -1:
    """Count the events of a chunk of a sampled unit."""
    cdef const EventC* event = chunk.head
    cdef double n = 0
    while event is not NULL:
        n += sampler.weight
        event = event.next
    if arriving:
        meter.events_in += n
    else:
        meter.events_out += n
    return 0


cdef object call_query_callback(callback, int64_t last_timestamp, list current, list expired):
    cdef Sampler sampler = sampler_here()
    cdef SpanC span
    cdef Meter meter
    if sampler is None:
        return callback(last_timestamp, current or None, expired or None)
    meter = sampler.meter_of(callback, "callback", ("query", None, callback))
    meter.events_in += sampler.weight * (len(current) + len(expired))
    sampler.open_span(meter, &span)
    try:
        return callback(last_timestamp, current or None, expired or None)
    finally:
        sampler.close_span(&span)


cdef class OutputTap:
    """Base class of query callbacks that get records."""

    cdef int take(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        raise NotImplementedError


@cython.final
cdef class ReceiverTap(OutputTap):
    """Passes what a query emits, current and expired events in their order, to a receiver as those of streams."""

    def __init__(self, Receiver receiver not None):
        self.receiver = receiver

    cdef int take(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        return self.receiver.on_chunk(<void*> self.receiver, chunk)


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
            # It alone: the other feeders of a stream, which may be a hundred thousand, know.
            self.follow(target.n != 0 or target.counts, target.sink, target.block_mode, target.retains)

    cdef void choose(self) noexcept:
        self.plain = is_plain(self)
        self.needed = self.always or self.heard

    cdef void follow(self, bint heard, BatchCallback sink, bint block_mode, bint retains) noexcept:
        self.heard, self.sink, self.block_mode, self.retains = heard, sink, block_mode, retains
        self.needed = self.always or heard

    cdef void change(self) noexcept:
        # Invalidates what the operators before know about this output.
        self.choose()
        self.app.wiring += 1

    def take_place_of(self, QueryOutput other not None):
        """Insert into the stream of another output, whose records are of the same pool; that one inserts no more."""
        if self.target is not None:
            self.target.feeders.remove(self)
        self.target = other.target
        if self.target is not None:
            self.target.feeders[self.target.feeders.index(other)] = self
            self.target.tell_feeders()
        self.change()

    def add_callback(self, callback):
        """Add a query callback: ``fn(timestamp, current, expired)``, or an OutputTap."""
        self.callbacks = [*self.callbacks, callback]
        self.always = True
        self.change()

    def remove_callback(self, callback):
        """Remove a query callback, which may have been added several times, once; ignore unknown ones."""
        cdef Py_ssize_t i
        for i in range(len(self.callbacks)):
            if self.callbacks[i] is callback:
                self.callbacks = self.callbacks[:i] + self.callbacks[i + 1:]
                break
        self.change()

    def set_debugger(self, function):
        """Call ``fn(events: list[Event])`` for each chunk, behind the query callbacks; None ends it.

        The function returns None, or the rows that are inserted in place of the events.
        """
        self.debugger = function
        self.always = True
        self.change()

    def set_limiter(self, RateLimiter limiter not None):
        """Set a rate limiter between selection and callbacks."""
        limiter.output = self
        self.limiter = limiter
        self.always = True
        self.change()

    def rate_limiter(self):
        """Return the rate limiter between selection and callbacks, or None."""
        return self.limiter

    def set_counting(self, bint counting):
        """Switch the counting of emitted events."""
        self.counting = counting
        self.change()

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        refuse_blocks(traits)
        # Not the field: a profile clears that while it measures single rows.
        return self.target.bind_blocks(traits) if is_plain(self) else 0

    cdef int send_block(self, EventC** events, Py_ssize_t n) except -1:
        cdef Sampler sampler = sampler_here()
        cdef SpanC span
        cdef Meter meter
        if sampler is None:
            return self.target.send_block(events, n)
        meter = sampler.meter_of(self, "output", None)
        meter.events_in += sampler.weight * n
        meter.events_out += sampler.weight * n
        sampler.open_span(meter, &span)
        try:
            return self.target.send_block(events, n)
        finally:
            sampler.close_span(&span)

    cdef int emit(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        if profiling.sampler is not NULL:
            return emit_sampled(self, chunk, last_timestamp)
        if self.limiter is not None:
            return self.limiter.limit(chunk, last_timestamp)
        return self.deliver(chunk, last_timestamp)

    cdef int deliver(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        cdef EventC* event
        cdef Sampler sampler
        if self.buffered is not NULL:
            return self.hold(chunk, last_timestamp)
        if profiling.sampler is not NULL:
            sampler = sampler_here()
            if sampler is not None:
                count(sampler, sampler.meter_of(self, "output", None), chunk, False)
        try:
            if self.counting:
                event = chunk.head
                while event is not NULL:
                    self.events += 1
                    event = event.next
            if self.callbacks:
                self.call_back(chunk, last_timestamp)
            if self.debugger is not None:
                self.stop(chunk)
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

    cdef int stop(self, EventChunk* chunk) except -1:
        cdef EventChunk replaced
        events = make_events(chunk, self.pool, self.layout)
        chunk_clear(&replaced)
        try:
            rows = self.debugger(events)
            if rows is not None:
                replace_values(chunk, rows, self.pool, self.layout, &replaced)
                chunk_release(chunk, self.pool)
                chunk[0] = replaced
        except Exception as error:
            if self.app.passes_on(error):
                raise error
            self.app.handle(error, "debugger callback", events)
        return 0

    cdef int call_back(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        cdef list current = None, expired
        for callback in self.callbacks:
            if isinstance(callback, OutputTap):
                (<OutputTap> callback).take(chunk, last_timestamp)
                continue
            if current is None:
                current, expired = divided(chunk, self.pool, self.layout)
            call_function(callback, self.app, last_timestamp, current, expired)
        return 0


cdef tuple divided(EventChunk* chunk, EventPool pool, Layout layout):
    """Return the current and the expired events of a chunk."""
    cdef list current = [], expired = []
    cdef EventC* event = chunk.head
    while event is not NULL:
        (expired if event.type == EXPIRED else current).append(make_event(event, pool, layout))
        event = event.next
    return current, expired


cdef int call_function(function, AppContext app, int64_t last_timestamp, list current, list expired) except -1:
    """Call a query callback; its exceptions go to the exception handler."""
    try:
        answer = call_query_callback(function, last_timestamp, current, expired)
    except Exception as error:
        if app.passes_on(error):
            raise error
        app.handle(error, "query callback", current + expired)
    else:
        if answer is not None:
            app.refuse_coroutine(answer, "query callback", current + expired)
    return 0
