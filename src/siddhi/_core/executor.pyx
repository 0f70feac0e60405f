"""Executors: the common object, constants and variables. Operators stand in executor_*.pyx."""

from cpython.float cimport PyFloat_AsDouble
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF

from siddhi._core.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING
from siddhi._core.executor_block cimport choose_operand

import operator
from time import monotonic_ns

from siddhi.errors import shown

cdef extern from "time.h" nogil:
    ctypedef long time_t
    struct timespec:
        time_t tv_sec
        long tv_nsec
    int timespec_get(timespec* ts, int base)
    int TIME_UTC


cdef extern from "siddhi/single.h":
    double siddhi_shortest_double(float value)


cdef object index_of = operator.index      # C's conversion would cut a float
MOST_TOLD = 2000  # characters of a description: each holds those of its operands, which adds up in long chains

TYPE_NAMES = ("string", "int", "long", "float", "double", "bool", "object")


cdef enum:
    NOT_SET = -1

cdef int64_t system_set_to = NOT_SET       # by set_system_clock()
cdef int64_t monotonic_set_to = NOT_SET


def set_system_clock(time_ms, monotonic_ms=None):
    """For tests: let the clocks of the system stand at times, for all apps of the process.

    Args:
        time_ms: what the system's clock shows, ms since 1970; None: both clocks go by the system again.
        monotonic_ms: what its monotonic clock shows, ms; None: that goes by the system.
    """
    global system_set_to, monotonic_set_to
    system_set_to = NOT_SET if time_ms is None else time_ms
    monotonic_set_to = NOT_SET if time_ms is None or monotonic_ms is None else monotonic_ms


cdef int64_t system_ms() noexcept:
    cdef timespec ts
    if system_set_to != NOT_SET:
        return system_set_to
    timespec_get(&ts, TIME_UTC)
    return <int64_t> ts.tv_sec * 1000 + ts.tv_nsec // 1000000


cdef int64_t live_ms(FrameC* f) noexcept:
    cdef int64_t now = system_ms()
    if now >= f.clock and f.slowed.since == 0:
        f.clock = now
        return now
    return slowed_ms(f, now)


cdef int64_t slowed_ms(FrameC* f, int64_t now) noexcept:
    """The app's clock while the system's, which shows `now`, is behind it. Nine tenths: a period of nine seconds takes ten,
    and an hour is made up for in ten."""
    cdef int64_t passed = monotonic_set_to if monotonic_set_to != NOT_SET else <int64_t> (monotonic_ns() // 1_000_000)
    cdef int64_t slow
    if f.slowed.since == 0:
        f.slowed.since = max(1, passed)
        f.slowed.start = f.clock
    slow = f.slowed.start + (passed - f.slowed.since) * 9 // 10
    if now >= max(slow, f.clock):
        f.slowed.since = 0
        slow = now
    f.clock = max(slow, f.clock)
    return f.clock


cdef class Executor:
    """A typed closure. Built by the ``make_*`` functions of the executor modules."""

    def __dealloc__(self):
        PyMem_Free(self.arguments)
        if self.kind == CONSTANT and (self.type == STRING or self.type == OBJECT):
            Py_XDECREF(<PyObject*> self.c.value.o)

    cdef int adopt(self, tuple children) except -1:
        """Keep the operands and point left, right and args at them."""
        cdef Py_ssize_t i, n = len(children)
        cdef Executor child
        self.children = children
        self.arguments = <const ExecC**> PyMem_Malloc(max(1, n) * sizeof(void*))
        if self.arguments is NULL:
            raise MemoryError
        for i in range(n):
            child = children[i]
            self.arguments[i] = &child.c
        self.c.args = self.arguments
        self.c.n_args = <int32_t> n
        self.c.left = self.arguments[0] if n > 0 else NULL
        self.c.right = self.arguments[1] if n > 1 else NULL
        return 0

    def __repr__(self):
        return f"<Executor {self.description}>"


cdef Executor new_executor(eval_fn fn, int type, tuple children, str description):
    cdef Executor executor = Executor.__new__(Executor)
    executor.c.fn = fn
    executor.type = type
    executor.kind = COMPUTED
    executor.description = description if len(description) <= MOST_TOLD else description[:MOST_TOLD] + "..."
    executor.adopt(children)
    return executor


# --- constants

cdef int constant_8(const ExecC* x, EventC* e, FrameC* f, int64_t* out) noexcept:
    out[0] = x.value.l
    return VALUE


cdef int constant_4(const ExecC* x, EventC* e, FrameC* f, int32_t* out) noexcept:
    out[0] = x.value.i
    return VALUE


cdef int constant_bool(const ExecC* x, EventC* e, FrameC* f, void* out) noexcept:
    return x.value.i


def make_constant(value, int type):
    """A literal of a type; None is a null of that type."""
    cdef Executor executor = new_executor(NULL, type, (), f"{TYPE_NAMES[type]} const")
    if value is None:
        executor.c.fn = <eval_fn> null_value
        return executor
    unbox(value, type, &executor.c.value)
    executor.kind = CONSTANT
    if type == BOOL:
        executor.c.fn = <eval_fn> constant_bool
    elif type == INT or type == FLOAT:
        executor.c.fn = <eval_fn> constant_4
    else:
        executor.c.fn = <eval_fn> constant_8
        if type == STRING or type == OBJECT:
            Py_INCREF(value)
    executor.c.map = choose_operand(type, True)
    return executor


cdef int null_value(const ExecC* x, EventC* e, FrameC* f, void* out) noexcept:
    return NULL_VALUE


# --- variables: cells of the event at hand, of the output event, of the table row, of an event slot

cdef inline int read_8(const ExecC* x, EventC* e, int64_t* out) noexcept:
    if e is NULL or e.body[x.word] & x.bit:
        return NULL_VALUE
    out[0] = <int64_t> e.body[x.cell]
    return VALUE


cdef inline int read_4(const ExecC* x, EventC* e, int32_t* out) noexcept:
    if e is NULL or e.body[x.word] & x.bit:
        return NULL_VALUE
    out[0] = (<const int32_t*> &e.body[x.cell])[0]
    return VALUE


cdef inline int read_bool(const ExecC* x, EventC* e) noexcept:
    if e is NULL or e.body[x.word] & x.bit:
        return NULL_VALUE
    return (<const int32_t*> &e.body[x.cell])[0]


cdef int event_8(const ExecC* x, EventC* e, FrameC* f, int64_t* out) noexcept:
    if e.body[x.word] & x.bit:
        return NULL_VALUE
    out[0] = <int64_t> e.body[x.cell]
    return VALUE


cdef int event_4(const ExecC* x, EventC* e, FrameC* f, int32_t* out) noexcept:
    if e.body[x.word] & x.bit:
        return NULL_VALUE
    out[0] = (<const int32_t*> &e.body[x.cell])[0]
    return VALUE


cdef int event_bool(const ExecC* x, EventC* e, FrameC* f, void* out) noexcept:
    if e.body[x.word] & x.bit:
        return NULL_VALUE
    return (<const int32_t*> &e.body[x.cell])[0]


cdef int output_8(const ExecC* x, EventC* e, FrameC* f, int64_t* out) noexcept:
    return read_8(x, f.output, out)


cdef int output_4(const ExecC* x, EventC* e, FrameC* f, int32_t* out) noexcept:
    return read_4(x, f.output, out)


cdef int output_bool(const ExecC* x, EventC* e, FrameC* f, void* out) noexcept:
    return read_bool(x, f.output)


cdef int row_8(const ExecC* x, EventC* e, FrameC* f, int64_t* out) noexcept:
    return read_8(x, f.row, out)


cdef int row_4(const ExecC* x, EventC* e, FrameC* f, int32_t* out) noexcept:
    return read_4(x, f.row, out)


cdef int row_bool(const ExecC* x, EventC* e, FrameC* f, void* out) noexcept:
    return read_bool(x, f.row)


cdef int slot_8(const ExecC* x, EventC* e, FrameC* f, int64_t* out) noexcept:
    return read_8(x, f.slots[x.slot], out)


cdef int slot_4(const ExecC* x, EventC* e, FrameC* f, int32_t* out) noexcept:
    return read_4(x, f.slots[x.slot], out)


cdef int slot_bool(const ExecC* x, EventC* e, FrameC* f, void* out) noexcept:
    return read_bool(x, f.slots[x.slot])


cdef eval_fn pick(int type, eval_fn eight, eval_fn four, eval_fn boolean) noexcept:
    if type == BOOL:
        return boolean
    if type == INT or type == FLOAT:
        return four
    return eight


EVENT, OUTPUT, ROW = "event", "output", "row"


def make_variable(Layout layout, int position, source=EVENT):
    """A cell.

    Args:
        layout: of the event it is read from.
        position: cell position in that layout.
        source: EVENT (the event at hand), OUTPUT, ROW, or the number of an event slot.
    """
    cdef int type = layout.codes[position]
    cdef Executor executor = new_executor(NULL, type, (), f"{TYPE_NAMES[type]} var")
    executor.c.cell = layout.words + position
    executor.c.word = position >> 6
    executor.c.bit = (<uint64_t> 1) << (position & 63)
    if source == EVENT:
        executor.kind = VARIABLE
        executor.c.fn = pick(type, <eval_fn> event_8, <eval_fn> event_4, <eval_fn> event_bool)
        executor.c.map = choose_operand(type, False)
    elif source == OUTPUT:
        executor.c.fn = pick(type, <eval_fn> output_8, <eval_fn> output_4, <eval_fn> output_bool)
    elif source == ROW:
        executor.c.fn = pick(type, <eval_fn> row_8, <eval_fn> row_4, <eval_fn> row_bool)
    else:
        executor.c.slot = source
        executor.c.fn = pick(type, <eval_fn> slot_8, <eval_fn> slot_4, <eval_fn> slot_bool)
    return executor


cdef int timestamp_of_event(const ExecC* x, EventC* e, FrameC* f, int64_t* out) noexcept:
    out[0] = e.timestamp
    return VALUE


cdef int timestamp_of_slot(const ExecC* x, EventC* e, FrameC* f, int64_t* out) noexcept:
    cdef EventC* event = f.slots[x.slot]
    if event is NULL:
        return NULL_VALUE
    out[0] = event.timestamp
    return VALUE


def make_event_timestamp(slot=None):
    """Timestamp in ms of the event at hand, or of an event slot (null while it is empty)."""
    cdef Executor executor
    if slot is None:
        return new_executor(<eval_fn> timestamp_of_event, LONG, (), "eventTimestamp()")
    executor = new_executor(<eval_fn> timestamp_of_slot, LONG, (), f"eventTimestamp({slot})")
    executor.c.slot = slot
    return executor


cdef int slot_is_null(const ExecC* x, EventC* e, FrameC* f, void* out) noexcept:
    return f.slots[x.slot] is NULL


def make_slot_is_null(int slot):
    """Whether an event slot is empty."""
    cdef Executor executor = new_executor(<eval_fn> slot_is_null, BOOL, (), f"isNull(slot {slot})")
    executor.c.slot = slot
    return executor


# --- the border to Python objects

cdef object box(int status, int type, const CellC* value):
    """A result as a Python object."""
    if status == NULL_VALUE:
        return None
    if type == BOOL:
        return status == TRUE
    if type == STRING or type == OBJECT:
        return <object> value.o
    if type == DOUBLE:
        return value.d
    if type == LONG:
        return value.l
    if type == INT:
        return value.i
    return siddhi_shortest_double(value.f)


cdef int unbox(object value, int type, CellC* out) except -1:
    """A Python object as a cell (objects are not INCREFed); OverflowError or TypeError where it does not fit."""
    if type == STRING:
        if not isinstance(value, str):
            raise TypeError(f"expected a string, got {shown(value)}")
        out.o = <void*> value
    elif type == OBJECT:
        out.o = <void*> value
    elif type == DOUBLE:
        out.d = PyFloat_AsDouble(value)
    elif type == FLOAT:
        out.f = <float> PyFloat_AsDouble(value)
    elif type == LONG:
        out.l = index_of(value)
    elif type == INT:
        out.i = index_of(value)
    else:
        out.i = 1 if value else 0
    return 0


cdef object evaluate_to_python(Executor x, EventC* e, FrameC* f):
    cdef CellC value
    cdef int status = x.c.fn(&x.c, e, f, &value)
    return box(status, x.type, &value)
