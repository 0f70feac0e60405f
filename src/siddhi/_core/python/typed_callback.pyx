"""Receiver that calls Python with typed rows instead of events."""

cimport cython

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool, Layout, event_to_tuple
from siddhi._core.record.row_maker cimport TypedRowMaker
from siddhi._core.record.user_event cimport make_events
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport Receiver, receive_fn
from siddhi._core.runtime.sampler cimport Meter, Sampler, SpanC, profiling, sampler_here


cdef object call_measured(TypedCallback callback, list rows):
    """Call the function, and measure it where the unit is sampled."""
    cdef Sampler sampler = sampler_here()
    cdef Meter meter
    cdef SpanC span
    if sampler is None:
        return callback.function(rows)
    meter = sampler.meter_of(callback, "callback", ("stream", callback.stream, callback.function))
    meter.events_in += sampler.weight * len(rows)
    sampler.open_span(meter, &span)
    try:
        return callback.function(rows)
    finally:
        sampler.close_span(&span)


cdef int call_typed(TypedCallback callback, EventChunk* chunk) except -1:
    cdef list rows = []
    cdef EventC* record = chunk.head
    try:
        while record is not NULL:
            rows.append(callback.maker.make(event_to_tuple(record, callback.layout)))
            record = record.next
        answer = callback.function(rows) if profiling.sampler is NULL else call_measured(callback, rows)
    except KeyboardInterrupt as interrupt:
        callback.app.defer_interrupt(interrupt)
    except Exception as error:
        if callback.app.passes_on(error):
            raise error
        callback.app.handle(error, f"callback of '{callback.stream}'",
                            make_events(chunk, callback.pool, callback.layout))
    else:
        if answer is not None:
            callback.app.refuse_coroutine(answer, f"callback of '{callback.stream}'",
                                          make_events(chunk, callback.pool, callback.layout))
    return 0


@cython.final
cdef class TypedCallback(Receiver):
    """Calls ``fn(rows)`` once per chunk, with objects of a class.

    Args:
        app: context of the app.
        pool, layout: of the stream.
        stream: its name.
        function: the function.
        maker: makes the objects.
    """

    cdef AppContext app
    cdef EventPool pool
    cdef Layout layout
    cdef TypedRowMaker maker
    cdef object function
    cdef str stream

    def __init__(self, AppContext app not None, EventPool pool not None, Layout layout not None, str stream not None,
                 function not None, TypedRowMaker maker not None):
        self.app = app
        self.pool = pool
        self.layout = layout
        self.stream = stream
        self.function = function
        self.maker = maker
        self.on_chunk = <receive_fn> call_typed

    cdef int receive(self, EventChunk* chunk) except -1:
        return call_typed(self, chunk)
