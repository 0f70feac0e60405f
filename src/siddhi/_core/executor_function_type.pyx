"""Functions about the type of a value: cast and instanceOf.

A cast of what is known to be of another type converts, as convert() does; where convert() gives null for a text that holds
no number, the cast fails.

Where the type is known when the app is built, nothing is left to test at run time. An object attribute holds Python
objects, which do not tell int from long or float from double: an int of 32 bits is an Integer, a wider one a Long, a
float a Double, and numpy's scalars are what they say.
"""

from cpython.float cimport PyFloat_AsDouble
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t

from siddhi._core.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, CellC, EventC
from siddhi._core.executor cimport (
    FALSE, NULL_VALUE, TRUE, VALUE, ExecC, Executor, FrameC, eval_fn, evaluate_condition, new_executor,
)
from siddhi._core.java_number cimport parse_double, parse_float, parse_int, parse_long

from numbers import Integral, Real

from siddhi._core.executor_convert import make_convert
from siddhi.errors import shown

ctypedef fused num:
    int32_t
    int64_t
    float
    double

ctypedef fused integer:
    int32_t
    int64_t

ctypedef fused real:
    float
    double

NAMES = {STRING: "string", INT: "int", LONG: "long", FLOAT: "float", DOUBLE: "double", BOOL: "bool", OBJECT: "object"}


cdef int code_of(object value) except -1:
    """TypeCode of a Python object; OBJECT where it is of no other type."""
    if isinstance(value, str):
        return STRING
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, float):
        return DOUBLE
    if type(value) is int:
        return narrowest(value)
    # Other kinds of numbers, numpy's above all, which is not asked directly: it may not even be there.
    name = type(value).__name__
    if name in ("bool_", "bool"):
        return BOOL
    if isinstance(value, Integral):
        return LONG if name in ("int64", "longlong") else narrowest(int(value))
    if isinstance(value, Real):
        return FLOAT if name == "float32" else DOUBLE
    return OBJECT


cdef int narrowest(object value) except -1:
    if INT32_MIN <= value <= INT32_MAX:
        return INT
    return LONG if -(1 << 63) <= value < 1 << 63 else OBJECT


# --- instanceOf

cdef int is_not_null(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef CellC value
    return x.left.fn(x.left, e, f, &value) != NULL_VALUE


cdef int is_never(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef CellC value
    # An aggregator behind it must see the event all the same.
    x.left.fn(x.left, e, f, &value)
    return FALSE


cdef int is_instance(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef void* value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return FALSE
    return code_of(<object> value) == x.slot


def make_instance_of(Executor operand not None, int type):
    """Whether a value has a type; false for null."""
    cdef eval_fn fn = <eval_fn> is_never
    if operand.type == OBJECT:
        fn = <eval_fn> is_instance
    elif operand.type == type:
        fn = <eval_fn> is_not_null
    cdef Executor executor = new_executor(fn, BOOL, (operand,), f"instanceOf({operand.description}, {NAMES[type]})")
    executor.c.slot = type
    return executor


# --- cast. Of an object it never converts, but a number may stand for a wider one.

cdef int refuse(const ExecC* x, object value) except -1:
    raise TypeError(f"cast(..., '{NAMES[x.slot]}') got {value!r}, which is a {type(value).__name__}")


cdef int text_of_cast(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef void* value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    if not isinstance(<object> value, str):
        refuse(x, <object> value)
    out[0] = value
    return VALUE


cdef int integer_of_cast(const ExecC* x, EventC* e, FrameC* f, integer* out) except -1:
    cdef void* value
    cdef int64_t found
    cdef int code
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    code = code_of(<object> value)
    if code != INT and code != LONG:
        refuse(x, <object> value)
    found = <object> value
    if integer is int32_t:
        if found < INT32_MIN or found > INT32_MAX:
            refuse(x, <object> value)
    out[0] = <integer> found
    return VALUE


cdef int real_of_cast(const ExecC* x, EventC* e, FrameC* f, real* out) except -1:
    cdef void* value
    cdef int code
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    code = code_of(<object> value)
    if code == OBJECT or code == STRING or code == BOOL:
        refuse(x, <object> value)
    out[0] = <real> PyFloat_AsDouble(<object> value)
    return VALUE


cdef int condition_of_cast(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef void* value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return FALSE
    if code_of(<object> value) != BOOL:
        refuse(x, <object> value)
    return TRUE if <object> value else FALSE


cdef int condition(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    return evaluate_condition(x.left, e, f)


cdef int number_of_text(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef void* value
    cdef bint found
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    if num is int32_t:
        found = parse_int(<str> value, out)
    elif num is int64_t:
        found = parse_long(<str> value, out)
    elif num is float:
        found = parse_float(<str> value, out)
    else:
        found = parse_double(<str> value, out)
    if not found:
        raise ValueError(f"cast(..., '{NAMES[x.slot]}') got {shown(<object> value)}, which is no {NAMES[x.slot]}")
    return VALUE


def make_cast(Executor operand not None, int type):
    """The value of an object as the type it has; a value of another type converted.

    Evaluation raises TypeError where the object is of another type, ValueError where a text holds no number of the type.

    Raises:
        TypeError: nothing is cast to an object.
    """
    cdef eval_fn fn
    cdef int source = operand.type
    if source == OBJECT and type != OBJECT:
        fn = (<eval_fn> text_of_cast if type == STRING else
              <eval_fn> integer_of_cast[int32_t] if type == INT else
              <eval_fn> integer_of_cast[int64_t] if type == LONG else
              <eval_fn> real_of_cast[float] if type == FLOAT else
              <eval_fn> real_of_cast[double] if type == DOUBLE else
              <eval_fn> condition_of_cast)
    elif source == BOOL and type == BOOL:
        fn = <eval_fn> condition
    elif source == type:
        return operand
    elif type == OBJECT:
        raise TypeError(f"cast() can't make an object of a {NAMES[source]}")
    elif source == STRING and type != BOOL:
        fn = (<eval_fn> number_of_text[int32_t] if type == INT else
              <eval_fn> number_of_text[int64_t] if type == LONG else
              <eval_fn> number_of_text[float] if type == FLOAT else
              <eval_fn> number_of_text[double])
    else:
        return make_convert(operand, type)
    cdef Executor executor = new_executor(fn, type, (operand,), f"cast({operand.description}, {NAMES[type]})")
    executor.c.slot = type
    return executor
