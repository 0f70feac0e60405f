"""Numbers of a block of events: values go through arrays, operator by operator, instead of one call per event and operator.

Operators without a branch become loops the C compiler can run on several values at a time.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from siddhi._core.arithmetic cimport add, divide, multiply, num, remainder, subtract
from siddhi._core.event cimport DOUBLE, FLOAT, INT, LONG, EventC
from siddhi._core.executor cimport VALUE, ExecC, map_fn
from siddhi._core.processor cimport MAX_BLOCK

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


# --- the choice, made once when the app is built

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
