# Expressions as typed closures. An ExecC is a function pointer with its operands. The planner's choice of operator,
# operand types and operand kinds selects the function, so evaluation tests no types, boxes no values and calls no
# Python.
#
# A function writes its value through `out` (typed by the executor's type) and returns a status:
#   every type but bool: VALUE or NULL_VALUE (out unchanged)
#   bool: FALSE, TRUE or NULL_VALUE (out unchanged)
#   -1: a Python exception is set (Cython propagates it)

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from siddhi._core.record.event cimport CellC, EventC, Layout
from siddhi._core.record.frame cimport FALSE, NULL_VALUE, VALUE, FrameC

cdef struct ExecC
ctypedef int (*eval_fn)(const ExecC* x, EventC* e, FrameC* f, void* out) except -1

# Block function of a condition: writes to passed[] those of events[0:n] for which the condition holds, in order, and
# returns their number. `passed` may be `events`. Only conditions that cannot fail have one.
ctypedef Py_ssize_t (*select_fn)(const ExecC* x, EventC** events, Py_ssize_t n, EventC** passed) noexcept

# Block function of a number: writes the values for events[0:n], n <= MAX_BLOCK, to out[]. valid[] must be preset to 1;
# it is set to 0 for nulls, whose out[] is undefined. Returns whether there are nulls. Only infallible expressions have
# one.
ctypedef bint (*map_fn)(const ExecC* x, EventC** events, Py_ssize_t n, void* out, uint8_t* valid) noexcept

cdef struct ExecC:
    eval_fn fn
    select_fn select           # or NULL
    map_fn map                 # or NULL
    const ExecC* left
    const ExecC* right
    int32_t cell               # body index of a variable operand
    int32_t word               # body index of its null word
    uint64_t bit               # its null bit
    int32_t cell2              # the same for a second variable operand
    int32_t word2
    uint64_t bit2
    CellC value                # constant operand
    const ExecC** args         # operands of functions
    int32_t n_args
    int32_t slot               # event slot of variables of joins and patterns
    void* data                 # state of aggregators, objects of Python functions

cdef enum ExecutorKind:
    CONSTANT
    VARIABLE                   # a cell of the current event
    COMPUTED

cdef class Executor:
    cdef ExecC c
    cdef readonly int type             # TypeCode of the value
    cdef readonly int kind             # ExecutorKind
    cdef readonly str description      # stable text: operator, type and operand kinds
    cdef readonly tuple children       # owns the operands (and what `data` points to)
    cdef const ExecC** arguments       # array behind c.args, owned
    cdef int map_depth                 # nesting depth of c.map
    cdef int adopt(self, tuple children) except -1

cdef Executor new_executor(eval_fn fn, int type, tuple children, str description)

cdef inline int evaluate_condition(const ExecC* x, EventC* e, FrameC* f) except -1:
    """Evaluate a condition: TRUE, or FALSE (also for null)."""
    cdef int answer = x.fn(x, e, f, NULL)
    return answer if answer != NULL_VALUE else FALSE

cdef object evaluate_to_python(Executor x, EventC* e, FrameC* f)

# --- Arithmetic over blocks of events: the block function of an operation whose operands have one. See map_fn.
cdef enum:
    MOST_MAP_DEPTH = 16        # each nested call has an array on the stack

cdef map_fn choose_operand(int type, bint is_constant) noexcept  # a constant or variable; NULL for other types than numbers
cdef map_fn choose_arithmetic(int operator, int type) noexcept       # + - * / % by index
cdef map_fn choose_widened(int source, int target) noexcept          # a number in a wider type

# --- Executors that create Python objects.
#
# Ownership: an executor of type string or object writes a BORROWED pointer to `out`. It is valid until the same
# executor is evaluated again or the event it was read from is released. A caller that keeps it longer (a record, a
# selector, an aggregator) must take a reference.
#
# Variables and constants return the object of their cell. An executor that creates an object keeps it in `created`
# until the next evaluation. Hence an ObjectExecutor must have one parent: if two operands shared it, the first result
# would be freed when the second is created.

cdef class ObjectExecutor(Executor):
    cdef object created             # the last one: alive until the next evaluation
    cdef int prepare(self, eval_fn fn, int type, tuple children, str description) except -1

cdef ObjectExecutor new_object_executor(eval_fn fn, int type, tuple children, str description)

cdef inline int keep_object(const ExecC* x, object value, void** out) except -1:
    """Keep a new object in the executor and write the borrowed pointer."""
    cdef ObjectExecutor executor = <ObjectExecutor> x.data
    # The previous object is released last: its destructor may run Python code.
    cdef object _previous = executor.created
    executor.created = value
    out[0] = <void*> value
    return VALUE
