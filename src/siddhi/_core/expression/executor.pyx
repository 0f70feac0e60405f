"""Executors: the common class, constants and variables. Operators are in the other modules of the package."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t

from siddhi._core.expression.kernels cimport add, divide, multiply, num, remainder, subtract
from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, EventC
from siddhi._core.record.event import TYPE_NAMES
from siddhi._core.record.exact cimport exact_text
from siddhi._core.record.frame cimport MAX_BLOCK, VALUE, box, unbox

MOST_REPORTED = 2000  # characters of a description: it contains those of its operands, which adds up in long chains


cdef class Executor:
    """A typed closure. Created by the ``make_*`` functions of the executor modules."""

    def __dealloc__(self):
        PyMem_Free(self.arguments)
        if self.kind == CONSTANT and (self.type == STRING or self.type == OBJECT):
            Py_XDECREF(<PyObject*> self.c.value.o)

    cdef int adopt(self, tuple children) except -1:
        """Own the operands and point left, right and args at them."""
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
    executor.description = description if len(description) <= MOST_REPORTED else description[:MOST_REPORTED] + "..."
    executor.adopt(children)
    return executor


cdef class ObjectExecutor(Executor):
    """An executor that owns the object it created last."""

    cdef int prepare(self, eval_fn fn, int type, tuple children, str description) except -1:
        """Initialize the executor, as new_executor does for other executors."""
        self.c.fn = fn
        self.c.data = <void*> self
        self.type = type
        self.kind = COMPUTED
        self.description = description
        self.adopt(children)
        return 0


cdef ObjectExecutor new_object_executor(eval_fn fn, int type, tuple children, str description):
    cdef ObjectExecutor executor = ObjectExecutor.__new__(ObjectExecutor)
    executor.prepare(fn, type, children, description)
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
    """Return a literal of a type; None is a null of that type."""
    cdef Executor executor = new_executor(NULL, type, (), f"{TYPE_NAMES[type]} const")
    if value is None:
        executor.c.fn = <eval_fn> null_value
        return executor
    if type == STRING and isinstance(value, str):
        value = exact_text(value)
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


# --- variables: cells of the current event, of the output event, of the table row, of an event slot

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
    """Return an executor that reads a cell.

    Args:
        layout: layout of the event that it is read from.
        position: index of the attribute in that layout.
        source: EVENT (the current event), OUTPUT, ROW, or the index of an event slot.
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
    """Return an executor of the timestamp in ms of the current event, or of an event slot (null while it is empty)."""
    cdef Executor executor
    if slot is None:
        return new_executor(<eval_fn> timestamp_of_event, LONG, (), "eventTimestamp()")
    executor = new_executor(<eval_fn> timestamp_of_slot, LONG, (), f"eventTimestamp({slot})")
    executor.c.slot = slot
    return executor


cdef int slot_is_null(const ExecC* x, EventC* e, FrameC* f, void* out) noexcept:
    return f.slots[x.slot] is NULL


def make_slot_is_null(int slot):
    """Return an executor: whether an event slot is empty."""
    cdef Executor executor = new_executor(<eval_fn> slot_is_null, BOOL, (), f"isNull(slot {slot})")
    executor.c.slot = slot
    return executor


# --- conversion to Python objects

cdef object evaluate_to_python(Executor x, EventC* e, FrameC* f):
    cdef CellC value
    cdef int status = x.c.fn(&x.c, e, f, &value)
    return box(status, x.type, &value)


# --- Numbers of a block of events: each operator runs over arrays, instead of one call per event and operator.
#
# Operators without branches become loops that the C compiler can vectorize.

ctypedef fused source_t:
    int32_t
    int64_t
    float

cdef bint take_variable(const ExecC* x, EventC** events, Py_ssize_t n, num* out, uint8_t* valid) noexcept:
    cdef Py_ssize_t i
    cdef int cell = x.cell, word = x.word
    cdef uint64_t nulls = 0, bit = x.bit
    for i in range(n):
        out[i] = (<const num*> &events[i].body[cell])[0]
        nulls |= events[i].body[word]
    if not nulls & bit:
        return False
    for i in range(n):
        if events[i].body[word] & bit:
            valid[i] = 0
    return True


cdef bint take_constant(const ExecC* x, EventC** events, Py_ssize_t n, num* out, uint8_t* valid) noexcept:
    cdef Py_ssize_t i
    cdef num value = (<const num*> &x.value)[0]
    for i in range(n):
        out[i] = value
    return False


cdef inline bint take_both(const ExecC* x, EventC** events, Py_ssize_t n, num* out, num* second, uint8_t* valid) noexcept:
    cdef bint left = x.left.map(x.left, events, n, out, valid)
    cdef bint right = x.right.map(x.right, events, n, second, valid)
    return left or right


cdef bint map_add(const ExecC* x, EventC** events, Py_ssize_t n, num* out, uint8_t* valid) noexcept:
    cdef num second[MAX_BLOCK]
    cdef bint nulls = take_both(x, events, n, out, second, valid)
    cdef Py_ssize_t i
    for i in range(n):
        add(out[i], second[i], &out[i])
    return nulls


cdef bint map_subtract(const ExecC* x, EventC** events, Py_ssize_t n, num* out, uint8_t* valid) noexcept:
    cdef num second[MAX_BLOCK]
    cdef bint nulls = take_both(x, events, n, out, second, valid)
    cdef Py_ssize_t i
    for i in range(n):
        subtract(out[i], second[i], &out[i])
    return nulls


cdef bint map_multiply(const ExecC* x, EventC** events, Py_ssize_t n, num* out, uint8_t* valid) noexcept:
    cdef num second[MAX_BLOCK]
    cdef bint nulls = take_both(x, events, n, out, second, valid)
    cdef Py_ssize_t i
    for i in range(n):
        multiply(out[i], second[i], &out[i])
    return nulls


cdef bint map_divide(const ExecC* x, EventC** events, Py_ssize_t n, num* out, uint8_t* valid) noexcept:
    cdef num second[MAX_BLOCK]
    cdef bint nulls = take_both(x, events, n, out, second, valid)
    cdef Py_ssize_t i
    for i in range(n):
        if divide(out[i], second[i], &out[i]) != VALUE:
            valid[i] = 0
            nulls = True
    return nulls


cdef bint map_remainder(const ExecC* x, EventC** events, Py_ssize_t n, num* out, uint8_t* valid) noexcept:
    cdef num second[MAX_BLOCK]
    cdef bint nulls = take_both(x, events, n, out, second, valid)
    cdef Py_ssize_t i
    for i in range(n):
        if remainder(out[i], second[i], &out[i]) != VALUE:
            valid[i] = 0
            nulls = True
    return nulls


cdef bint widen(const ExecC* x, EventC** events, Py_ssize_t n, num* out, uint8_t* valid, source_t* unused) noexcept:
    cdef source_t values[MAX_BLOCK]
    cdef bint nulls = x.left.map(x.left, events, n, values, valid)
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = <num> values[i]
    return nulls


cdef bint int_to_long(const ExecC* x, EventC** events, Py_ssize_t n, int64_t* out, uint8_t* valid) noexcept:
    return widen(x, events, n, out, valid, <int32_t*> NULL)


cdef bint int_to_float(const ExecC* x, EventC** events, Py_ssize_t n, float* out, uint8_t* valid) noexcept:
    return widen(x, events, n, out, valid, <int32_t*> NULL)


cdef bint int_to_double(const ExecC* x, EventC** events, Py_ssize_t n, double* out, uint8_t* valid) noexcept:
    return widen(x, events, n, out, valid, <int32_t*> NULL)


cdef bint long_to_float(const ExecC* x, EventC** events, Py_ssize_t n, float* out, uint8_t* valid) noexcept:
    return widen(x, events, n, out, valid, <int64_t*> NULL)


cdef bint long_to_double(const ExecC* x, EventC** events, Py_ssize_t n, double* out, uint8_t* valid) noexcept:
    return widen(x, events, n, out, valid, <int64_t*> NULL)


cdef bint float_to_double(const ExecC* x, EventC** events, Py_ssize_t n, double* out, uint8_t* valid) noexcept:
    return widen(x, events, n, out, valid, <float*> NULL)


# --- selection of the function, once when the app is built

cdef map_fn ARITHMETIC[5][4]
cdef map_fn OPERANDS[2][4]             # constants, variables

cdef int fill(num* unused, int column) noexcept:
    OPERANDS[0][column] = <map_fn> take_constant[num]
    OPERANDS[1][column] = <map_fn> take_variable[num]
    ARITHMETIC[0][column] = <map_fn> map_add[num]
    ARITHMETIC[1][column] = <map_fn> map_subtract[num]
    ARITHMETIC[2][column] = <map_fn> map_multiply[num]
    ARITHMETIC[3][column] = <map_fn> map_divide[num]
    ARITHMETIC[4][column] = <map_fn> map_remainder[num]
    return 0


fill[int32_t](NULL, 0)
fill[int64_t](NULL, 1)
fill[float](NULL, 2)
fill[double](NULL, 3)


cdef int column_of(int type) noexcept:
    return 0 if type == INT else 1 if type == LONG else 2 if type == FLOAT else 3 if type == DOUBLE else -1


cdef map_fn choose_operand(int type, bint is_constant) noexcept:
    cdef int column = column_of(type)
    return NULL if column < 0 else OPERANDS[not is_constant][column]


cdef map_fn choose_arithmetic(int operator, int type) noexcept:
    return ARITHMETIC[operator][column_of(type)]


cdef map_fn choose_widened(int source, int target) noexcept:
    if source == INT:
        return (<map_fn> int_to_long if target == LONG else
                <map_fn> int_to_float if target == FLOAT else <map_fn> int_to_double)
    if source == LONG:
        return <map_fn> long_to_float if target == FLOAT else <map_fn> long_to_double
    return <map_fn> float_to_double
