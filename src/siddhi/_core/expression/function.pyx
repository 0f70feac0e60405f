"""Functions that choose among their arguments: coalesce, default, ifThenElse, maximum, minimum.

The chosen argument writes to `out` itself. All arguments are evaluated, because an aggregator in one of them must see
the event; only ifThenElse evaluates just the chosen branch.
"""

from cpython.float cimport PyFloat_AsDouble
from cpython.set cimport PyAnySet_Check, PySet_GET_SIZE
from libc.math cimport NAN
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, int64_t
from libc.string cimport memcpy

import os
from collections.abc import Set
from hashlib import shake_256
from numbers import Integral, Real

from siddhi._core.expression.cast import make_convert
from siddhi._core.expression.executor cimport (
    COMPUTED, ExecC, Executor, eval_fn, evaluate_condition, keep_object, new_executor, new_object_executor,
)
from siddhi._core.expression.executor import make_event_timestamp
from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, CellC, EventC
from siddhi._core.record.exact cimport exact_text
from siddhi._core.record.frame cimport FALSE, NULL_VALUE, TRUE, VALUE, FrameC, box, now_ms
from siddhi._core.record.java cimport parse_double, parse_float, parse_int, parse_long
from siddhi.errors import shown

ctypedef fused num:
    int32_t
    int64_t
    float
    double


# --- coalesce, default

cdef int first_of_two(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    # The second is a variable or a constant: its evaluation has no side effect.
    cdef int status = x.left.fn(x.left, e, f, out)
    return status if status != NULL_VALUE else x.right.fn(x.right, e, f, out)


cdef int first_of_many(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef CellC unread
    cdef int i, status = NULL_VALUE
    for i in range(x.n_args):
        if status == NULL_VALUE:
            status = x.args[i].fn(x.args[i], e, f, out)
        else:
            x.args[i].fn(x.args[i], e, f, &unread)
    return status


cdef int first_condition(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef int status = first_of_many(x, e, f, out)
    return status if status != NULL_VALUE else FALSE


def make_coalesce(tuple arguments not None, str name="coalesce"):
    """Return an executor of the first argument that is not null, or null (false for a bool)."""
    cdef Executor first = arguments[0]
    cdef Executor last = arguments[len(arguments) - 1]
    cdef eval_fn fn = <eval_fn> first_of_many
    if first.type == BOOL:
        fn = <eval_fn> first_condition
    elif len(arguments) == 2 and last.kind != COMPUTED:
        fn = <eval_fn> first_of_two
    return new_executor(fn, first.type, arguments, f"{name}({', '.join([each.description for each in arguments])})")


# --- ifThenElse

cdef int chosen_branch(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef const ExecC* branch = x.args[1] if evaluate_condition(x.left, e, f) == TRUE else x.args[2]
    return branch.fn(branch, e, f, out)


cdef int chosen_condition(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    return evaluate_condition(x.args[1] if evaluate_condition(x.left, e, f) == TRUE else x.args[2], e, f)


def make_if_then_else(Executor condition not None, Executor then not None, Executor otherwise not None):
    """Return an executor of one of two values; a null condition chooses the second, and a bool is never null."""
    return new_executor(
        <eval_fn> chosen_condition if then.type == BOOL else <eval_fn> chosen_branch, then.type,
        (condition, then, otherwise),
        f"ifThenElse({condition.description}, {then.description}, {otherwise.description})")


# --- maximum, minimum. NaN is the result only if all are NaN, so the order of arguments does not matter.

cdef inline bint is_nan(num value) noexcept:
    if num is float or num is double:
        return value != value
    else:
        return False


cdef int greatest(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num value, best = 0
    cdef bint found = False
    cdef int i
    for i in range(x.n_args):
        if x.args[i].fn(x.args[i], e, f, &value) == VALUE and (not found or is_nan(best) or value > best):
            best = value
            found = True
    out[0] = best
    return VALUE if found else NULL_VALUE


cdef int least(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num value, best = 0
    cdef bint found = False
    cdef int i
    for i in range(x.n_args):
        if x.args[i].fn(x.args[i], e, f, &value) == VALUE and (not found or is_nan(best) or value < best):
            best = value
            found = True
    out[0] = best
    return VALUE if found else NULL_VALUE


cdef eval_fn EXTREMES[2][4]
EXTREMES[0][0] = <eval_fn> greatest[int32_t]
EXTREMES[0][1] = <eval_fn> greatest[int64_t]
EXTREMES[0][2] = <eval_fn> greatest[float]
EXTREMES[0][3] = <eval_fn> greatest[double]
EXTREMES[1][0] = <eval_fn> least[int32_t]
EXTREMES[1][1] = <eval_fn> least[int64_t]
EXTREMES[1][2] = <eval_fn> least[float]
EXTREMES[1][3] = <eval_fn> least[double]

COLUMNS = {INT: 0, LONG: 1, FLOAT: 2, DOUBLE: 3}


def make_extreme(str name not None, tuple arguments not None):
    """Return an executor of the ``maximum`` or ``minimum`` of the arguments that are not null; null if all are."""
    cdef Executor first = arguments[0]
    cdef int column = COLUMNS[first.type]
    return new_executor(EXTREMES[name == "minimum"][column], first.type, arguments,
                        f"{name}({', '.join([each.description for each in arguments])})")


# --- Functions on the type of a value: cast and instanceOf.
#
# A cast of a value known to be of another type converts it, as convert() does; for a text that holds no number,
# convert() returns null and the cast fails.
#
# If the type is known when the app is built, nothing is tested at run time. An object attribute holds Python objects,
# which do not distinguish int from long or float from double: an int of 32 bits is an Integer, a wider one a Long, a
# float a Double; numpy scalars have their own type.

ctypedef fused cast_t:
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
    """Return the TypeCode of a Python object; OBJECT if it is of no other type."""
    if isinstance(value, str):
        return STRING
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, float):
        return DOUBLE
    if type(value) is int:
        return narrowest(value)
    # Other numbers, such as numpy's, are recognised by name: numpy may not be installed.
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
    # An aggregator in the operand must see the event.
    x.left.fn(x.left, e, f, &value)
    return FALSE


cdef int is_instance(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef void* value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return FALSE
    return code_of(<object> value) == x.slot


def make_instance_of(Executor operand not None, int type):
    """Return an executor: whether a value has a type; false for null."""
    cdef eval_fn fn = <eval_fn> is_never
    if operand.type == OBJECT:
        fn = <eval_fn> is_instance
    elif operand.type == type:
        fn = <eval_fn> is_not_null
    cdef Executor executor = new_executor(fn, BOOL, (operand,), f"instanceOf({operand.description}, {NAMES[type]})")
    executor.c.slot = type
    return executor


# --- cast. An object is never converted, but a number may be widened.

cdef int refuse(const ExecC* x, object value) except -1:
    raise TypeError(f"cast(..., '{NAMES[x.slot]}') got {value!r}, which is a {type(value).__name__}")


cdef int text_of_cast(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef void* value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    if not isinstance(<object> value, str):
        refuse(x, <object> value)
    return keep_object(x, exact_text(<object> value), out)


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


cdef class NumberOfText(Executor):
    """The number in a text."""

    cdef str call                  # for messages


cdef int number_of_text(const ExecC* x, EventC* e, FrameC* f, cast_t* out) except -1:
    cdef void* value
    cdef bint found
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        return NULL_VALUE
    if cast_t is int32_t:
        found = parse_int(<str> value, out)
    elif cast_t is int64_t:
        found = parse_long(<str> value, out)
    elif cast_t is float:
        found = parse_float(<str> value, out)
    else:
        found = parse_double(<str> value, out)
    if not found:
        raise ValueError(
            f"{(<NumberOfText> x.data).call} got {shown(<object> value)}, which is not of type {NAMES[x.slot]}")
    return VALUE


cdef Executor make_number_of_text(Executor operand, int type, str call, str description):
    cdef NumberOfText executor = NumberOfText.__new__(NumberOfText)
    executor.c.fn = (<eval_fn> number_of_text[int32_t] if type == INT else
                     <eval_fn> number_of_text[int64_t] if type == LONG else
                     <eval_fn> number_of_text[float] if type == FLOAT else
                     <eval_fn> number_of_text[double])
    executor.c.slot = type
    executor.c.data = <void*> executor
    executor.type = type
    executor.kind = COMPUTED
    executor.call = call
    executor.description = description
    executor.adopt((operand,))
    return executor


def make_cast(Executor operand not None, int type):
    """Return an executor of the value of an object in its type; a value of another type is converted.

    Evaluation raises TypeError if the object is of another type, ValueError if a text holds no number of the type.

    Raises:
        TypeError: a cast to object.
    """
    cdef eval_fn fn
    cdef Executor executor
    cdef int source = operand.type
    if source == OBJECT and type == STRING:
        executor = new_object_executor(<eval_fn> text_of_cast, type, (operand,), f"cast({operand.description}, string)")
        executor.c.slot = type
        return executor
    if source == OBJECT and type != OBJECT:
        fn = (<eval_fn> integer_of_cast[int32_t] if type == INT else
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
        return make_number_of_text(
            operand, type, f"cast(..., '{NAMES[type]}')", f"cast({operand.description}, {NAMES[type]})")
    else:
        return make_convert(operand, type)
    executor = new_executor(fn, type, (operand,), f"cast({operand.description}, {NAMES[type]})")
    executor.c.slot = type
    return executor


# --- Scalar functions by name, and the small ones: UUID, currentTimeMillis, createSet, sizeOfSet.

cdef extern from "Python.h":
    str PyUnicode_FromStringAndSize(const char* text, Py_ssize_t size)

cdef const char* HEX = "0123456789abcdef"


# --- sets

cdef object SINGLE_NAN = NAN


cdef int new_set(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef CellC value
    cdef object element = box(x.left.fn(x.left, e, f, &value), x.slot, &value)
    # Python finds a NaN in a set only by identity.
    if element != element:
        element = SINGLE_NAN
    return keep_object(x, {element}, out)


def make_create_set(Executor operand not None):
    """Return an executor of a new set with the value, which may be null."""
    cdef Executor executor = new_object_executor(
        <eval_fn> new_set, OBJECT, (operand,), f"createSet({operand.description})")
    executor.c.slot = operand.type
    return executor


cdef int size_of_set(const ExecC* x, EventC* e, FrameC* f, int32_t* out) except -1:
    cdef void* value
    if x.left.fn(x.left, e, f, &value) == NULL_VALUE:
        out[0] = 0
    elif PyAnySet_Check(<object> value):
        out[0] = <int32_t> PySet_GET_SIZE(<object> value)
    elif isinstance(<object> value, Set):
        out[0] = len(<object> value)
    else:
        raise TypeError(f"sizeOfSet() wants a set, but got {shown(<object> value)}")
    return VALUE


def make_size_of_set(Executor operand not None):
    """Return an executor of the size of a set; 0 for null. Evaluation raises TypeError if the object is not a set."""
    return new_executor(<eval_fn> size_of_set, INT, (operand,), f"sizeOfSet({operand.description})")


# --- identity and time

# Random bytes are read for many UUIDs at a time: the system call costs more than all the rest.
cdef enum:
    RESERVE_BYTES = 4096

cdef bytes reserve = b""
cdef Py_ssize_t reserve_used = 0
cdef bytes seed = None                       # seed of the UUIDs; None: random
cdef unsigned long long seed_used = 0        # number of refills derived from the seed
cdef unsigned char version_bits = 0x40       # 4: random; 8: custom


def drop_reserve():
    """Discard the buffered random bytes: a forked process must not use its parent's."""
    global reserve, reserve_used
    reserve = b""
    reserve_used = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=drop_reserve)


def seed_uuids(bytes new_seed):
    """Derive the UUIDs of this process from a seed, so that they are reproducible; None: random again."""
    global seed, seed_used, version_bits
    drop_reserve()
    seed = new_seed
    seed_used = 0
    version_bits = 0x40 if new_seed is None else 0x80


cdef bytes new_reserve():
    global seed_used
    if seed is None:
        return os.urandom(RESERVE_BYTES)
    seed_used += 1
    return shake_256(seed + (<object> seed_used).to_bytes(8, "little")).digest(RESERVE_BYTES)


cdef int random_uuid(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    global reserve, reserve_used
    cdef unsigned char octets[16]
    cdef char text[36]
    cdef int i, at = 0
    if reserve_used + 16 > len(reserve):
        reserve = new_reserve()
        reserve_used = 0
    memcpy(octets, <const char*> reserve + reserve_used, 16)
    reserve_used += 16
    octets[6] = octets[6] & 0x0f | version_bits
    octets[8] = octets[8] & 0x3f | 0x80      # the variant of RFC 4122
    for i in range(16):
        if i == 4 or i == 6 or i == 8 or i == 10:
            text[at] = c'-'
            at += 1
        text[at] = HEX[octets[i] >> 4]
        text[at + 1] = HEX[octets[i] & 15]
        at += 2
    return keep_object(x, PyUnicode_FromStringAndSize(text, 36), out)


def make_uuid():
    """Return an executor of a random UUID as text, new at every evaluation."""
    return new_object_executor(<eval_fn> random_uuid, STRING, (), "UUID()")


cdef int clock_of_app(const ExecC* x, EventC* e, FrameC* f, int64_t* out) noexcept:
    out[0] = now_ms(f)
    return VALUE


def make_current_time_millis():
    """Return an executor of the app's clock in ms since the epoch: the playback clock, or the system's."""
    return new_executor(<eval_fn> clock_of_app, LONG, (), "currentTimeMillis()")


# --- functions by name: (arguments, type of the result) -> Executor

FUNCTIONS = {
    "UUID": lambda arguments, type: make_uuid(),
    "cast": lambda arguments, type: make_cast(arguments[0], type),
    "coalesce": lambda arguments, type: make_coalesce(arguments),
    "convert": lambda arguments, type: make_convert(arguments[0], type),
    "createSet": lambda arguments, type: make_create_set(*arguments),
    "currentTimeMillis": lambda arguments, type: make_current_time_millis(),
    "default": lambda arguments, type: make_coalesce(arguments, "default"),
    "eventTimestamp": lambda arguments, type: make_event_timestamp(),
    "ifThenElse": lambda arguments, type: make_if_then_else(*arguments),
    "instanceOfBoolean": lambda arguments, type: make_instance_of(*arguments, BOOL),
    "instanceOfDouble": lambda arguments, type: make_instance_of(*arguments, DOUBLE),
    "instanceOfFloat": lambda arguments, type: make_instance_of(*arguments, FLOAT),
    "instanceOfInteger": lambda arguments, type: make_instance_of(*arguments, INT),
    "instanceOfLong": lambda arguments, type: make_instance_of(*arguments, LONG),
    "instanceOfString": lambda arguments, type: make_instance_of(*arguments, STRING),
    "maximum": lambda arguments, type: make_extreme("maximum", arguments),
    "minimum": lambda arguments, type: make_extreme("minimum", arguments),
    "sizeOfSet": lambda arguments, type: make_size_of_set(*arguments),
}


def make_function(str native not None, tuple arguments not None, int type):
    """Return the executor of a built-in function.

    Args:
        native: its name, one of FUNCTIONS.
        arguments: executors of types that the function accepts. cast and convert take their target type from `type`; a
            second argument, which names it, is ignored. eventTimestamp is the form without argument.
        type: TypeCode of the result.

    Raises:
        LookupError: there is no function of that name.
    """
    make = FUNCTIONS.get(native)
    if make is None:
        raise LookupError(f"the core has no function '{native}'")
    cdef Executor executor = make(arguments, type)
    if executor.type != type:
        raise TypeError(f"function '{native}' gives type code {executor.type}, not {type}")
    return executor
