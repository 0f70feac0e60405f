"""Stream functions: operators that inspect an event or append attributes to it."""

from libc.math cimport cos, sin
from libc.stdint cimport uint64_t

from siddhi._core.expression.executor cimport Executor, evaluate_to_python
from siddhi._core.record.event cimport EXPIRED, CellC, EventC, EventPool, cell_from_python, event_to_tuple
from siddhi._core.record.frame cimport NULL_VALUE
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.runtime.sampler cimport Sampler, SpanC, profiling, sampler_here

cdef double RADIANS = 0.017453292519943295


cdef class PythonStreamFunction(Processor):
    """Calls ``function(*arguments)`` for every event; the result becomes the appended attributes.

    The result is a sequence; a single value may stand alone.

    Args:
        app: context of the app.
        pool: of the incoming records; their last cells are the appended attributes.
        function: the callable.
        arguments: executors of its arguments.
        first: position of the first appended attribute.
        count: number of appended attributes.
    """

    cdef EventPool pool
    cdef object function
    cdef tuple arguments
    cdef int first
    cdef int count

    def __init__(self, AppContext app not None, EventPool pool not None, function not None, tuple arguments not None,
                 int first, int count):
        self.app = app
        self.pool = pool
        self.function = function
        self.arguments = arguments
        self.first = first
        self.count = count

    cdef int process(self, EventC* event) except -1:
        cdef Executor argument
        values = [evaluate_to_python(argument, event, &self.app.frame) for argument in self.arguments]
        answer = self.function(*values) if profiling.sampler is NULL else call_sampled(self.function, values)
        set_appended(event, self.pool, self.first, self.count, answer, self.function)
        return self.next.process(event)


cdef object call_sampled(function, list values):
    """Call a function and measure it where the unit is sampled."""
    cdef Sampler sampler = sampler_here()
    cdef SpanC span
    if sampler is None:
        return function(*values)
    sampler.open_span(sampler.meter_of(function, "function", getattr(function, "__name__", repr(function))), &span)
    try:
        return function(*values)
    finally:
        sampler.close_span(&span)


cdef int set_appended(EventC* event, EventPool pool, int first, int count, object answer, object function) except -1:
    """Set the appended attributes of a record to what a function returned: a sequence, or a single value."""
    cdef int i
    if count == 0:
        return 0
    if not isinstance(answer, (tuple, list)):
        answer = (answer,)
    if len(answer) != count:
        raise ValueError(f"{function!r} appends {count} attributes, but returned {len(answer)} values")
    for i in range(count):
        clear_cell(event, pool, first + i)
        cell_from_python(event, pool.layout, first + i, answer[i])
    return 0


cdef int clear_cell(EventC* event, EventPool pool, int position) except -1:
    event.body[position >> 6] &= ~((<uint64_t> 1) << (position & 63))
    return 0


cdef class LogFunction(Processor):
    """``log``: calls ``logger(priority, message, event text or None)`` for every event and passes the event on.

    Args:
        app: context of the app.
        pool: of the incoming records.
        logger: ``fn(priority: str, message: str | None, event: str | None)``.
        priority, message, with_event: executors, or None.
    """

    cdef EventPool pool
    cdef object logger
    cdef Executor priority
    cdef Executor message
    cdef Executor with_event

    def __init__(self, AppContext app not None, EventPool pool not None, logger not None, Executor priority,
                 Executor message, Executor with_event):
        self.app = app
        self.pool = pool
        self.logger = logger
        self.priority = priority
        self.message = message
        self.with_event = with_event

    cdef int process(self, EventC* event) except -1:
        priority = "INFO" if self.priority is None else evaluate_to_python(self.priority, event, &self.app.frame)
        message = None if self.message is None else evaluate_to_python(self.message, event, &self.app.frame)
        text = None
        if self.with_event is None or evaluate_to_python(self.with_event, event, &self.app.frame):
            text = (f"StreamEvent{{timestamp={event.timestamp}, data={list(event_to_tuple(event, self.pool.layout))}, "
                    f"type={'EXPIRED' if event.type == EXPIRED else 'CURRENT'}}}")
        self.logger(priority, message, text)
        return self.next.process(event)


cdef class Pol2Cart(Processor):
    """``pol2Cart(theta, rho [, z])``: appends x = rho cos theta, y = rho sin theta (theta in degrees) and z.

    Args:
        app: context of the app.
        pool: of the incoming records.
        arguments: two or three double executors.
        first: position of x.
    """

    cdef EventPool pool
    cdef tuple arguments
    cdef int first

    def __init__(self, AppContext app not None, EventPool pool not None, tuple arguments not None, int first):
        self.app = app
        self.pool = pool
        self.arguments = arguments
        self.first = first

    cdef int process(self, EventC* event) except -1:
        cdef Executor theta = self.arguments[0]
        cdef Executor rho = self.arguments[1]
        cdef Executor z
        cdef double angle = 0, radius = 0, height = 0
        if (theta.c.fn(&theta.c, event, &self.app.frame, &angle) == NULL_VALUE
                or rho.c.fn(&rho.c, event, &self.app.frame, &radius) == NULL_VALUE):
            raise ValueError("the arguments theta and rho of pol2Cart must not be null")
        self.put(event, self.first, radius * cos(angle * RADIANS))
        self.put(event, self.first + 1, radius * sin(angle * RADIANS))
        if len(self.arguments) == 3:
            z = self.arguments[2]
            if z.c.fn(&z.c, event, &self.app.frame, &height) != NULL_VALUE:
                self.put(event, self.first + 2, height)
        return self.next.process(event)

    cdef int put(self, EventC* event, int position, double value) except -1:
        clear_cell(event, self.pool, position)
        (<CellC*> &event.body[self.pool.layout.words + position]).d = value
        return 0
