"""``convert(value, 'type')``: Java's conversions between numbers, bools and text.

Null stays null, but a bool is never null. A text that holds no number of the wanted type becomes null.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t

from siddhi._core.expression.arithmetic import make_widen
from siddhi._core.expression.executor cimport (
    ExecC, Executor, eval_fn, evaluate_condition, keep_object, new_executor, new_object_executor,
)
from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, EventC
from siddhi._core.record.frame cimport FALSE, NULL_VALUE, TRUE, VALUE, FrameC
from siddhi._core.record.java cimport (
    parse_double, parse_float, parse_int, parse_long, text_of_double, text_of_float, text_of_object,
)

cdef extern from "siddhi/arithmetic.h" nogil:
    int32_t siddhi_narrow(int64_t a)
    int32_t siddhi_d2i(double a)
    int64_t siddhi_d2l(double a)

cdef extern from "Python.h":
    Py_ssize_t PyUnicode_GET_LENGTH(object text)
    uint32_t PyUnicode_READ_CHAR(object text, Py_ssize_t index)

ctypedef fused num:
    int32_t
    int64_t
    float
    double


# --- numbers to narrower numbers

cdef int int_from_long(const ExecC* x, EventC* e, FrameC* f, int32_t* out) except -1:
    cdef int64_t value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = siddhi_narrow(value)
    return VALUE


cdef int int_from_float(const ExecC* x, EventC* e, FrameC* f, int32_t* out) except -1:
    cdef float value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = siddhi_d2i(value)
    return VALUE


cdef int int_from_double(const ExecC* x, EventC* e, FrameC* f, int32_t* out) except -1:
    cdef double value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = siddhi_d2i(value)
    return VALUE


cdef int long_from_float(const ExecC* x, EventC* e, FrameC* f, int64_t* out) except -1:
    cdef float value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = siddhi_d2l(value)
    return VALUE


cdef int long_from_double(const ExecC* x, EventC* e, FrameC* f, int64_t* out) except -1:
    cdef double value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = siddhi_d2l(value)
    return VALUE


cdef int float_from_double(const ExecC* x, EventC* e, FrameC* f, float* out) except -1:
    cdef double value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    out[0] = <float> value
    return VALUE


# --- bools

cdef int number_from_bool(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef int answer = x.left.fn(x.left, e, f, NULL)
    if answer == NULL_VALUE:
        return NULL_VALUE
    out[0] = answer
    return VALUE


cdef int bool_from_number(const ExecC* x, EventC* e, FrameC* f, num* unused) except -1:
    cdef num value
    return x.left.fn(x.left, e, f, &value) == VALUE and value == 1


cdef int bool_from_bool(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    return evaluate_condition(x.left, e, f)


cdef const char* TRUE_LETTERS = "true"


cdef int bool_from_text(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef void* value
    cdef Py_ssize_t i
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE or PyUnicode_GET_LENGTH(<object> value) != 4:
        return FALSE
    for i in range(4):
        # Setting this bit makes a capital letter small, and no other character one of these.
        if (PyUnicode_READ_CHAR(<object> value, i) | 0x20) != <uint32_t> TRUE_LETTERS[i]:
            return FALSE
    return TRUE


# --- text to numbers

cdef int int_from_text(const ExecC* x, EventC* e, FrameC* f, int32_t* out) except -1:
    cdef void* value
    if x.left.fn(x.left, e, f, &value) == VALUE and parse_int(<str> value, out):
        return VALUE
    return NULL_VALUE


cdef int long_from_text(const ExecC* x, EventC* e, FrameC* f, int64_t* out) except -1:
    cdef void* value
    if x.left.fn(x.left, e, f, &value) == VALUE and parse_long(<str> value, out):
        return VALUE
    return NULL_VALUE


cdef int float_from_text(const ExecC* x, EventC* e, FrameC* f, float* out) except -1:
    cdef void* value
    if x.left.fn(x.left, e, f, &value) == VALUE and parse_float(<str> value, out):
        return VALUE
    return NULL_VALUE


cdef int double_from_text(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef void* value
    if x.left.fn(x.left, e, f, &value) == VALUE and parse_double(<str> value, out):
        return VALUE
    return NULL_VALUE


# --- to text

cdef int text_from_int(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef int32_t value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    return keep_object(x, str(value), out)


cdef int text_from_long(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef int64_t value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    return keep_object(x, str(value), out)


cdef int text_from_float(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef float value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    return keep_object(x, text_of_float(value), out)


cdef int text_from_double(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef double value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    return keep_object(x, text_of_double(value), out)


cdef str TRUE_TEXT = "true"
cdef str FALSE_TEXT = "false"


cdef int text_from_bool(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef int answer = x.left.fn(x.left, e, f, NULL)
    if answer == NULL_VALUE:
        return NULL_VALUE
    out[0] = <void*> (TRUE_TEXT if answer == TRUE else FALSE_TEXT)
    return VALUE


cdef int text_from_object(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef void* value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    return keep_object(x, text_of_object(<object> value), out)


# --- selection of the function, once when the app is built

cdef enum:
    N_TYPES = 7

cdef eval_fn FUNCTIONS[N_TYPES][N_TYPES]        # by source and target; NULL: the same value, or a wider type


FUNCTIONS[<int> LONG][<int> INT] = <eval_fn> int_from_long
FUNCTIONS[<int> FLOAT][<int> INT] = <eval_fn> int_from_float
FUNCTIONS[<int> FLOAT][<int> LONG] = <eval_fn> long_from_float
FUNCTIONS[<int> DOUBLE][<int> INT] = <eval_fn> int_from_double
FUNCTIONS[<int> DOUBLE][<int> LONG] = <eval_fn> long_from_double
FUNCTIONS[<int> DOUBLE][<int> FLOAT] = <eval_fn> float_from_double

FUNCTIONS[<int> BOOL][<int> INT] = <eval_fn> number_from_bool[int32_t]
FUNCTIONS[<int> BOOL][<int> LONG] = <eval_fn> number_from_bool[int64_t]
FUNCTIONS[<int> BOOL][<int> FLOAT] = <eval_fn> number_from_bool[float]
FUNCTIONS[<int> BOOL][<int> DOUBLE] = <eval_fn> number_from_bool[double]

FUNCTIONS[<int> INT][<int> BOOL] = <eval_fn> bool_from_number[int32_t]
FUNCTIONS[<int> LONG][<int> BOOL] = <eval_fn> bool_from_number[int64_t]
FUNCTIONS[<int> FLOAT][<int> BOOL] = <eval_fn> bool_from_number[float]
FUNCTIONS[<int> DOUBLE][<int> BOOL] = <eval_fn> bool_from_number[double]
FUNCTIONS[<int> BOOL][<int> BOOL] = <eval_fn> bool_from_bool
FUNCTIONS[<int> STRING][<int> BOOL] = <eval_fn> bool_from_text

FUNCTIONS[<int> STRING][<int> INT] = <eval_fn> int_from_text
FUNCTIONS[<int> STRING][<int> LONG] = <eval_fn> long_from_text
FUNCTIONS[<int> STRING][<int> FLOAT] = <eval_fn> float_from_text
FUNCTIONS[<int> STRING][<int> DOUBLE] = <eval_fn> double_from_text

FUNCTIONS[<int> INT][<int> STRING] = <eval_fn> text_from_int
FUNCTIONS[<int> LONG][<int> STRING] = <eval_fn> text_from_long
FUNCTIONS[<int> FLOAT][<int> STRING] = <eval_fn> text_from_float
FUNCTIONS[<int> DOUBLE][<int> STRING] = <eval_fn> text_from_double
FUNCTIONS[<int> BOOL][<int> STRING] = <eval_fn> text_from_bool
FUNCTIONS[<int> OBJECT][<int> STRING] = <eval_fn> text_from_object

NAMES = {STRING: "string", INT: "int", LONG: "long", FLOAT: "float", DOUBLE: "double", BOOL: "bool", OBJECT: "object"}


def make_convert(Executor operand not None, int type):
    """Return an executor that converts the operand to a type.

    Raises:
        TypeError: an object converts to string only, and nothing converts to object.
    """
    cdef int source = operand.type
    cdef eval_fn fn = FUNCTIONS[source][type]
    if fn is NULL:
        if source == <int> OBJECT or type == <int> OBJECT:
            raise TypeError(f"convert() can't make a {NAMES[type]} of a {NAMES[source]}")
        return operand if source == type else make_widen(operand, type)
    description = f"convert({operand.description}, {NAMES[type]})"
    if type == STRING and source != BOOL:
        return new_object_executor(fn, type, (operand,), description)
    return new_executor(fn, type, (operand,), description)
