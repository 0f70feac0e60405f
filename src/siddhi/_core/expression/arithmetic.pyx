"""Arithmetic executors: + - * / % in the type of their operands, with Java's results (include/siddhi/arithmetic.h).

Division and remainder by zero are null for every type; a null operand makes the result null.
"""

from libc.stdint cimport int32_t, int64_t

from siddhi._core.expression.executor cimport (
    CONSTANT, MOST_MAP_DEPTH, VARIABLE, ExecC, Executor, choose_arithmetic, choose_widened, eval_fn, new_executor,
)
from siddhi._core.expression.kernels cimport add, divide, multiply, num, remainder, subtract
from siddhi._core.record.event cimport DOUBLE, FLOAT, INT, LONG, EventC
from siddhi._core.record.frame cimport NULL_VALUE, VALUE, FrameC

# --- operands by kind: two computed (the general form), variable and constant, two variables

cdef inline int computed_operands(const ExecC* x, EventC* e, FrameC* f, num* a, num* b) except -1:
    # Always evaluate both sides: an aggregator in the second one must see the event.
    cdef int left = x.left.fn(x.left, e, f, a)
    cdef int right = x.right.fn(x.right, e, f, b)
    return VALUE if left == VALUE and right == VALUE else NULL_VALUE


cdef inline bint variable_is_null(const ExecC* x, EventC* e) noexcept:
    return (e.body[x.word] & x.bit) != 0


cdef inline bint variables_are_null(const ExecC* x, EventC* e) noexcept:
    return (e.body[x.word] & x.bit) != 0 or (e.body[x.word2] & x.bit2) != 0


cdef int add_computed(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num a, b
    if computed_operands(x, e, f, &a, &b) == NULL_VALUE:
        return NULL_VALUE
    return add(a, b, out)


cdef int add_var_const(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    if variable_is_null(x, e):
        return NULL_VALUE
    return add((<const num*> &e.body[x.cell])[0], (<const num*> &x.value)[0], out)


cdef int add_var_var(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    if variables_are_null(x, e):
        return NULL_VALUE
    return add((<const num*> &e.body[x.cell])[0], (<const num*> &e.body[x.cell2])[0], out)


cdef int subtract_computed(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num a, b
    if computed_operands(x, e, f, &a, &b) == NULL_VALUE:
        return NULL_VALUE
    return subtract(a, b, out)


cdef int subtract_var_const(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    if variable_is_null(x, e):
        return NULL_VALUE
    return subtract((<const num*> &e.body[x.cell])[0], (<const num*> &x.value)[0], out)


cdef int subtract_var_var(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    if variables_are_null(x, e):
        return NULL_VALUE
    return subtract((<const num*> &e.body[x.cell])[0], (<const num*> &e.body[x.cell2])[0], out)


cdef int multiply_computed(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num a, b
    if computed_operands(x, e, f, &a, &b) == NULL_VALUE:
        return NULL_VALUE
    return multiply(a, b, out)


cdef int multiply_var_const(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    if variable_is_null(x, e):
        return NULL_VALUE
    return multiply((<const num*> &e.body[x.cell])[0], (<const num*> &x.value)[0], out)


cdef int multiply_var_var(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    if variables_are_null(x, e):
        return NULL_VALUE
    return multiply((<const num*> &e.body[x.cell])[0], (<const num*> &e.body[x.cell2])[0], out)


cdef int divide_computed(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num a, b
    if computed_operands(x, e, f, &a, &b) == NULL_VALUE:
        return NULL_VALUE
    return divide(a, b, out)


cdef int divide_var_const(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    if variable_is_null(x, e):
        return NULL_VALUE
    return divide((<const num*> &e.body[x.cell])[0], (<const num*> &x.value)[0], out)


cdef int divide_var_var(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    if variables_are_null(x, e):
        return NULL_VALUE
    return divide((<const num*> &e.body[x.cell])[0], (<const num*> &e.body[x.cell2])[0], out)


cdef int remainder_computed(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num a, b
    if computed_operands(x, e, f, &a, &b) == NULL_VALUE:
        return NULL_VALUE
    return remainder(a, b, out)


cdef int remainder_var_const(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    if variable_is_null(x, e):
        return NULL_VALUE
    return remainder((<const num*> &e.body[x.cell])[0], (<const num*> &x.value)[0], out)


cdef int remainder_var_var(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    if variables_are_null(x, e):
        return NULL_VALUE
    return remainder((<const num*> &e.body[x.cell])[0], (<const num*> &e.body[x.cell2])[0], out)


# --- selection of the function, once when the app is built

cdef enum:
    N_OPERATORS = 5
    N_KINDS = 3

cdef eval_fn FUNCTIONS[5][3][4]


cdef int fill(num* unused, int column) noexcept:
    FUNCTIONS[0][0][column] = <eval_fn> add_computed[num]
    FUNCTIONS[0][1][column] = <eval_fn> add_var_const[num]
    FUNCTIONS[0][2][column] = <eval_fn> add_var_var[num]
    FUNCTIONS[1][0][column] = <eval_fn> subtract_computed[num]
    FUNCTIONS[1][1][column] = <eval_fn> subtract_var_const[num]
    FUNCTIONS[1][2][column] = <eval_fn> subtract_var_var[num]
    FUNCTIONS[2][0][column] = <eval_fn> multiply_computed[num]
    FUNCTIONS[2][1][column] = <eval_fn> multiply_var_const[num]
    FUNCTIONS[2][2][column] = <eval_fn> multiply_var_var[num]
    FUNCTIONS[3][0][column] = <eval_fn> divide_computed[num]
    FUNCTIONS[3][1][column] = <eval_fn> divide_var_const[num]
    FUNCTIONS[3][2][column] = <eval_fn> divide_var_var[num]
    FUNCTIONS[4][0][column] = <eval_fn> remainder_computed[num]
    FUNCTIONS[4][1][column] = <eval_fn> remainder_var_const[num]
    FUNCTIONS[4][2][column] = <eval_fn> remainder_var_var[num]
    return 0


fill[int32_t](NULL, 0)
fill[int64_t](NULL, 1)
fill[float](NULL, 2)
fill[double](NULL, 3)

OPERATORS = {"+": (0, "add"), "-": (1, "subtract"), "*": (2, "multiply"), "/": (3, "divide"), "%": (4, "remainder")}
COLUMNS = {INT: 0, LONG: 1, FLOAT: 2, DOUBLE: 3}
NAMES = {INT: "int", LONG: "long", FLOAT: "float", DOUBLE: "double"}
KINDS = ("", "var, const", "var, var")


cdef bint can_map(Executor executor) except -1:
    cdef Executor operand
    for operand in executor.children:
        if operand.c.map is NULL or operand.map_depth >= MOST_MAP_DEPTH:
            return False
        executor.map_depth = max(executor.map_depth, operand.map_depth + 1)
    return True


def make_arithmetic(str symbol not None, Executor left not None, Executor right not None):
    """Return an executor of ``left symbol right``; both operands must have the numeric type of the result."""
    cdef int kind = 0
    cdef int type = left.type
    operator, name = OPERATORS[symbol]
    if left.kind == VARIABLE and right.kind == CONSTANT:
        kind = 1
    elif left.kind == VARIABLE and right.kind == VARIABLE:
        kind = 2
    operands = KINDS[kind] if kind else f"{left.description}, {right.description}"
    cdef Executor executor = new_executor(
        FUNCTIONS[<int> operator][kind][<int> COLUMNS[type]], type, (left, right), f"{name} {NAMES[type]}({operands})")
    executor.c.cell, executor.c.word, executor.c.bit = left.c.cell, left.c.word, left.c.bit
    executor.c.cell2, executor.c.word2, executor.c.bit2 = right.c.cell, right.c.word, right.c.bit
    executor.c.value = right.c.value
    if can_map(executor):
        executor.c.map = choose_arithmetic(<int> operator, type)
    return executor


# --- widening: int → long → float → double

cdef int int_to_long(const ExecC* x, EventC* e, FrameC* f, int64_t* out) except -1:
    cdef int32_t value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = value
    return VALUE


cdef int int_to_float(const ExecC* x, EventC* e, FrameC* f, float* out) except -1:
    cdef int32_t value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = <float> value
    return VALUE


cdef int int_to_double(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef int32_t value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = value
    return VALUE


cdef int long_to_float(const ExecC* x, EventC* e, FrameC* f, float* out) except -1:
    cdef int64_t value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = <float> value
    return VALUE


cdef int long_to_double(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef int64_t value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = <double> value
    return VALUE


cdef int float_to_double(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef float value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = value
    return VALUE


cdef int long_var_to_double(const ExecC* x, EventC* e, FrameC* f, double* out) noexcept:
    if e.body[x.word] & x.bit:
        return NULL_VALUE
    out[0] = <double> (<const int64_t*> &e.body[x.cell])[0]
    return VALUE


def make_widen(Executor operand not None, int type):
    """Return the operand in a wider numeric type. A constant stays a constant."""
    from siddhi._core.expression.executor import make_constant

    cdef eval_fn fn
    cdef object value
    cdef int source = operand.type
    cdef bint variable = operand.kind == VARIABLE
    if operand.kind == CONSTANT:
        # One statement per type: a conditional expression over C numbers would make them all floats.
        if source == INT:
            value = operand.c.value.i
        elif source == FLOAT:
            value = operand.c.value.f
        elif type == FLOAT:
            # Rounded once; the conversion by way of double would round twice.
            value = <float> operand.c.value.l
        else:
            value = operand.c.value.l
        return make_constant(value, type)
    if source == INT:
        fn = (<eval_fn> int_to_long if type == LONG else
              <eval_fn> int_to_float if type == FLOAT else <eval_fn> int_to_double)
    elif source == LONG:
        if type == FLOAT:
            fn = <eval_fn> long_to_float
        elif variable:
            fn = <eval_fn> long_var_to_double
        else:
            fn = <eval_fn> long_to_double
    else:
        fn = <eval_fn> float_to_double
    cdef Executor executor = new_executor(fn, type, (operand,), f"{NAMES[type]}({operand.description})")
    executor.c.cell, executor.c.word, executor.c.bit = operand.c.cell, operand.c.word, operand.c.bit
    if can_map(executor):
        executor.c.map = choose_widened(source, type)
    return executor
