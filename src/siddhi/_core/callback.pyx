"""Receivers that call Python: stream callbacks and batch callbacks.

An exception of a callback goes to the app's handler; the callback's neighbours and later events are not affected.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF

from siddhi._core.chunk cimport EventChunk
from siddhi._core.event cimport EventC, EventPool, Layout
from siddhi._core.processor cimport receive_fn
from siddhi._core.user_event cimport make_event, make_events

cdef extern from "Python.h":
    PyObject* PyObject_CallOneArg(PyObject* callable, PyObject* argument)


cdef int call_back(StreamCallback callback, EventChunk* chunk) except -1:
    cdef list events
    if chunk.head.next is NULL:
        events = [make_event(chunk.head, callback.pool, callback.layout)]
    else:
        events = make_events(chunk, callback.pool, callback.layout)
    # Called by hand: a try block around every call would cost as much as a filter.
    cdef PyObject* answer = PyObject_CallOneArg(<PyObject*> callback.function, <PyObject*> events)
    if answer is NULL:
        return callback.app.report(f"callback of '{callback.stream}'", events)
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

    cdef bint takes_blocks(self) noexcept:
        return True

    cdef int receive_block(self, EventC** events, Py_ssize_t n) except -1:
        self.builder.append_block(events, n)
        return 0 if self.waiting else self.await_flush()

    cdef int collect(self, EventC* event) except -1:
        self.builder.append(event)
        return 0 if self.waiting else self.await_flush()

    cdef int await_flush(self) except -1:
        """Have the rows handed out at the end of the batch being sent, or at once where there is none."""
        if not self.app.in_batch:
            return self.flush()
        self.app.batch_callbacks.append(self)
        self.waiting = True         # not before: where that fails, nobody would ever flush it
        return 0

    cdef bint is_silent(self, int epoch) except -1:
        return True

    cdef bint keeps(self) noexcept:
        return False

    cpdef int flush(self) except -1:
        """Hand out what was collected."""
        self.waiting = False
        if self.builder.size == 0:
            return 0
        batch = self.builder.take()
        try:
            self.function(batch)
        except Exception as error:
            if self.app.passes_on(error):
                raise error
            self.app.handle(error, f"batch callback of '{self.stream}'", [])
        return 0
