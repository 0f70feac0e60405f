"""Receivers that call Python: stream callbacks and batch callbacks.

An exception of a callback goes to the app's exception handler. Other callbacks and later events are not affected.
"""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from siddhi._core.columnar.batch cimport BatchBuilder, EventBatch
from siddhi._core.columnar.buffer cimport free_block, grow_block
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport LONG, EventC, EventPool, Layout
from siddhi._core.record.user_event cimport make_event, make_events
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport BlockTraits, receive_fn, refuse_blocks
from siddhi._core.runtime.sampler cimport Meter, Sampler, SpanC, profiling, sampler_here

cdef extern from "Python.h":
    PyObject* PyObject_CallOneArg(PyObject* callable, PyObject* argument)


cdef PyObject* call_sampled(StreamCallback callback, object events):
    """Call a function and measure it where the unit is sampled; NULL: an exception is set."""
    cdef Sampler sampler = sampler_here()
    cdef Meter meter
    cdef SpanC span
    cdef PyObject* answer
    if sampler is None:
        return PyObject_CallOneArg(<PyObject*> callback.function, <PyObject*> events)
    meter = sampler.meter_of(callback, "callback", ("stream", callback.stream, callback.function))
    meter.events_in += sampler.weight * len(events)
    sampler.open_span(meter, &span)
    answer = PyObject_CallOneArg(<PyObject*> callback.function, <PyObject*> events)
    sampler.close_span(&span)
    return answer


cdef int call_back(StreamCallback callback, EventChunk* chunk) except -1:
    cdef list events
    if chunk.head.next is NULL:
        events = [make_event(chunk.head, callback.pool, callback.layout)]
    else:
        events = make_events(chunk, callback.pool, callback.layout)
    # Called through the C API: a try block around every call would cost as much as a filter.
    cdef PyObject* answer
    if profiling.sampler is NULL:
        answer = PyObject_CallOneArg(<PyObject*> callback.function, <PyObject*> events)
    else:
        answer = call_sampled(callback, events)
    if answer is NULL:
        return callback.app.report(f"callback of '{callback.stream}'", events)
    if <object> answer is not None:
        try:
            callback.app.refuse_coroutine(<object> answer, f"callback of '{callback.stream}'", events)
        finally:
            Py_XDECREF(answer)
        return 0
    Py_XDECREF(answer)
    return 0


cdef class StreamCallback(Receiver):
    """Calls ``fn(events: list[Event])`` once per chunk."""

    cdef AppContext app
    cdef EventPool pool
    cdef Layout layout
    cdef readonly object function
    cdef readonly str stream

    def __init__(self, AppContext app not None, EventPool pool not None, Layout layout not None, str stream not None,
                 function not None):
        self.app = app
        self.pool = pool
        self.layout = layout
        self.stream = stream
        self.function = function
        self.on_chunk = <receive_fn> call_back

    cdef int receive(self, EventChunk* chunk) except -1:
        return call_back(self, chunk)


cdef class BatchCallback(Receiver):
    """Collects events and calls ``fn(batch: EventBatch)``: at the end of a ``send_batch``, else once per chunk."""

    def __init__(self, AppContext app not None, BatchBuilder builder not None, str stream not None, function not None):
        self.app = app
        self.builder = builder
        self.stream = stream
        self.function = function

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        while event is not NULL:
            self.builder.append(event)
            event = event.next
        return 0 if self.waiting else self.await_flush()

    cdef int receive_block(self, EventC** events, Py_ssize_t n) except -1:
        self.builder.append_block(events, n)
        return 0 if self.waiting else self.await_flush()

    cdef int collect(self, EventC* event) except -1:
        self.builder.append(event)
        return 0 if self.waiting else self.await_flush()

    cdef int await_flush(self) except -1:
        """Register for a flush at the end of the current batch; flush at once if there is none."""
        if not self.app.in_batch:
            return self.flush()
        self.app.batch_callbacks.append(self)
        self.waiting = True         # set last: after a failure the flush would never come
        return 0

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        refuse_blocks(traits)
        traits.takes = traits.order_free = True
        traits.retains = False
        return 0

    cpdef int flush(self) except -1:
        """Call the function with the collected events."""
        self.waiting = False
        if self.builder.size == 0:
            return 0
        batch = self.builder.take()
        cdef Sampler sampler = sampler_here()
        cdef SpanC span
        cdef Meter meter
        if sampler is not None:
            meter = sampler.meter_of(self, "callback", ("batches", self.stream, self.function))
            meter.events_in += sampler.weight * len(batch)
            sampler.open_span(meter, &span)
        try:
            try:
                answer = self.function(batch)
            finally:
                if sampler is not None:
                    sampler.close_span(&span)
        except Exception as error:
            if self.app.passes_on(error):
                raise error
            self.app.handle(error, f"batch callback of '{self.stream}'", [])
        else:
            if answer is not None:
                self.app.refuse_coroutine(answer, f"batch callback of '{self.stream}'", [])
        return 0


# --- Output collected as columns until it is drained.

cdef void release_columns(void** data, uint8_t** valid, int first, int end) noexcept:
    """Free columns that nothing was written to."""
    cdef int i
    if data is not NULL and valid is not NULL:
        for i in range(first, end):
            free_block(data[i])
            free_block(valid[i])
    PyMem_Free(data)
    PyMem_Free(valid)


@cython.final
cdef class Collector(BatchCallback):
    """Collects the events of one stream, with their times and chunk numbers as optional columns.

    Args:
        app: context of the app.
        builder: builder for the layout of the stream.
        stream: name of the stream.
        timestamp: name of the column with the events' times (ms); None: no such column.
        chunk: name of the column with chunk numbers, counted from 0; None: no such column.
        end: name of the column with the ends of lifetimes (temporal streams only); None: no such column.
    """

    def __init__(self, AppContext app not None, BatchBuilder builder not None, str stream not None, timestamp, chunk,
                 end=None):
        BatchCallback.__init__(self, app, builder, stream, ())
        hidden = tuple([name for name in (timestamp, end, chunk) if name is not None])
        self.timestamp = timestamp
        self.chunk = chunk
        self.end = end
        self.layout = Layout(builder.layout.names + hidden, builder.layout.types + (LONG,) * len(hidden))
        self.waiting = True          # only drain() takes the events
        self.chunked = True

    def __dealloc__(self):
        PyMem_Free(self.spans)
        PyMem_Free(self.ends)

    def collects(self, tuple names not None, tuple types not None):
        """Whether its columns are attributes of these names and types."""
        return (self.builder.layout.names, self.builder.layout.types) == (names, types)

    def move(self, AppContext app not None):
        """Continue with the events of another app whose stream has the same attributes."""
        self.app = app

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        cdef bint several = event.next is not NULL
        if several:
            self.begin_span()
        while event is not NULL:
            self.builder.append(event)
            if several:
                self.spans[self.n_spans - 1].size += 1
            event = event.next
        return 0

    cdef int begin_span(self) except -1:
        """Begin a chunk of several rows. Rows are counted one by one: memory may run out between them."""
        cdef ChunkSpanC* spans
        cdef Py_ssize_t capacity
        if self.n_spans == self.span_capacity:
            capacity = max(16, 2 * self.span_capacity)
            spans = <ChunkSpanC*> PyMem_Realloc(self.spans, capacity * sizeof(ChunkSpanC))
            if spans is NULL:
                raise MemoryError
            self.spans = spans
            self.span_capacity = capacity
        self.spans[self.n_spans] = ChunkSpanC(self.builder.size, 0)
        self.n_spans += 1
        return 0

    cdef int append_lifetime(self, EventC* row, int64_t start, int64_t end, bint several) except -1:
        cdef int64_t* larger
        cdef Py_ssize_t capacity
        if self.builder.size == self.end_capacity:
            capacity = max(64, 2 * self.end_capacity)
            larger = <int64_t*> PyMem_Realloc(self.ends, capacity * sizeof(int64_t))
            if larger is NULL:
                raise MemoryError
            self.ends = larger
            self.end_capacity = capacity
        self.builder.append(row)
        self.builder.timestamps[self.builder.size - 1] = start
        self.ends[self.builder.size - 1] = end
        if several:
            self.spans[self.n_spans - 1].size += 1
        return 0

    cpdef int flush(self) except -1:
        return 0

    def drain(self):
        """Return the events since the last drain as an :class:`EventBatch`."""
        cdef EventBatch batch
        cdef int width = self.builder.layout.width, more = self.layout.width - width, i
        cdef Py_ssize_t n, row
        cdef void** data = NULL
        cdef uint8_t** valid = NULL
        cdef bint done = False
        with self.app.lock:
            n = self.builder.size
            try:
                # Allocate first: what is taken from the builder cannot be returned.
                data = <void**> PyMem_Calloc(max(1, width + more), sizeof(void*))
                valid = <uint8_t**> PyMem_Calloc(max(1, width + more), sizeof(uint8_t*))
                if data is NULL or valid is NULL:
                    raise MemoryError
                for i in range(width, width + more if n else width):
                    data[i] = grow_block(NULL, n * sizeof(int64_t))
                    valid[i] = <uint8_t*> grow_block(NULL, n)
                    memset(valid[i], 1, n)
                batch = self.builder.take()
                done = True
            finally:
                if not done:
                    release_columns(data, valid, width, width + more)
            for i in range(width):
                data[i], valid[i] = batch.data[i], batch.valid[i]
            PyMem_Free(batch.data)
            PyMem_Free(batch.valid)
            batch.data, batch.valid, batch.layout = data, valid, self.layout
            if n and self.timestamp is not None:
                memcpy(data[width], batch.ts, n * sizeof(int64_t))
            if n and self.end is not None:
                i = width + (self.timestamp is not None)
                memcpy(data[i], self.ends, n * sizeof(int64_t))
                for row in range(n):
                    valid[i][row] = self.ends[row] != NO_END
            self.number(<int64_t*> data[width + more - 1] if n and self.chunk is not None else NULL, n)
        return batch

    cdef int number(self, int64_t* numbers, Py_ssize_t n) except -1:
        """Write the chunk number of each row and advance the counter."""
        cdef Py_ssize_t row = 0, span = 0, end
        while row < n:
            end = row + 1
            if span < self.n_spans and self.spans[span].row == row:
                end = row + self.spans[span].size
                span += 1
            while row < end:
                if numbers is not NULL:
                    numbers[row] = self.chunks
                row += 1
            self.chunks += 1
        self.n_spans = 0
        return 0
