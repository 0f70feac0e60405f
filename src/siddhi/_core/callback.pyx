"""Receivers that call Python: stream callbacks and batch callbacks.

An exception of a callback goes to the app's handler; the callback's neighbours and later events are not affected.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF

from siddhi._core.batch cimport BatchBuilder
from siddhi._core.chunk cimport EventChunk
from siddhi._core.context cimport AppContext
from siddhi._core.event cimport EventC, EventPool, Layout
from siddhi._core.processor cimport Receiver
from siddhi._core.user_event cimport make_events

cdef extern from "Python.h":
    PyObject* PyObject_CallOneArg(PyObject* callable, PyObject* argument)


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

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef list events = make_events(chunk, self.pool, self.layout)
        # Called by hand: a try block around every call would cost as much as a filter.
        cdef PyObject* answer = PyObject_CallOneArg(<PyObject*> self.function, <PyObject*> events)
        if answer is NULL:
            return self.app.report(f"callback of '{self.stream}'", events)
        Py_XDECREF(answer)
        return 0


cdef class BatchCallback(Receiver):
    """Collects events and calls ``fn(batch: EventBatch)``: at the end of a ``send_batch``, else once per chunk."""

    cdef AppContext app
    cdef readonly BatchBuilder builder
    cdef readonly object function
    cdef readonly str stream
    cdef bint waiting

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
        if not self.app.in_batch:
            return self.flush()
        if not self.waiting:
            self.waiting = True
            self.app.batch_callbacks.append(self)
        return 0

    cpdef int flush(self) except -1:
        """Hand out what was collected."""
        self.waiting = False
        if self.builder.size == 0:
            return 0
        batch = self.builder.take()
        try:
            self.function(batch)
        except Exception as error:
            self.app.handle(error, f"batch callback of '{self.stream}'", [])
        return 0
