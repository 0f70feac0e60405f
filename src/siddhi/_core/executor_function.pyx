"""Scalar functions by name, and the small ones: UUID, currentTimeMillis, createSet, sizeOfSet.

The others stand by subject: executor_convert, executor_function_choice, executor_function_type.
"""

from cpython.set cimport PyAnySet_Check, PySet_GET_SIZE
from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from siddhi._core.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, CellC, EventC
from siddhi._core.executor cimport (
    NULL_VALUE, VALUE, ExecC, Executor, FrameC, box, eval_fn, new_executor, now_ms,
)
from siddhi._core.executor_function_object cimport lend, new_object_executor

import os
from collections.abc import Set
from hashlib import shake_256

from siddhi._core.executor import make_event_timestamp
from siddhi._core.executor_convert import make_convert
from siddhi._core.executor_function_choice import make_coalesce, make_extreme, make_if_then_else
from siddhi._core.executor_function_type import make_cast, make_instance_of

from siddhi.errors import shown

cdef extern from "Python.h":
    str PyUnicode_FromStringAndSize(const char* text, Py_ssize_t size)

cdef const char* HEX = "0123456789abcdef"


# --- sets

cdef object SINGLE_NAN = NAN


cdef int new_set(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef CellC value
    cdef object element = box(x.left.fn(x.left, e, f, &value), x.slot, &value)
    # Python finds a NaN in a set by identity only.
    if element != element:
        element = SINGLE_NAN
    return lend(x, {element}, out)


def make_create_set(Executor operand not None):
    """A new set that holds the value, which may be null."""
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
    """How many elements a set has; 0 for null. Evaluation raises TypeError where the object is no set."""
    return new_executor(<eval_fn> size_of_set, INT, (operand,), f"sizeOfSet({operand.description})")


# --- identity and time

# Random bytes are fetched for many UUIDs at a time: the call into the system costs more than all the rest.
cdef enum:
    RESERVE_BYTES = 4096

cdef bytes reserve = b""
cdef Py_ssize_t reserve_used = 0
cdef bytes seed = None                       # what UUIDs follow from; None: they are random
cdef unsigned long long seed_used = 0        # how often the reserve was made of it
cdef unsigned char version_bits = 0x40       # 4: random; 8: of one's own making


def drop_reserve():
    """Forget the random bytes at hand: a forked process must not use its parent's."""
    global reserve, reserve_used
    reserve = b""
    reserve_used = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=drop_reserve)


def seed_uuids(bytes new_seed):
    """Let the UUIDs of this process follow from a seed, so that the same work gives the same ones; None: random again."""
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
    return lend(x, PyUnicode_FromStringAndSize(text, 36), out)


def make_uuid():
    """A random UUID as text, a new one at every evaluation."""
    return new_object_executor(<eval_fn> random_uuid, STRING, (), "UUID()")


cdef int clock_of_app(const ExecC* x, EventC* e, FrameC* f, int64_t* out) noexcept:
    out[0] = now_ms(f)
    return VALUE


def make_current_time_millis():
    """The app's clock in ms since the epoch: the playback clock, or the system's."""
    return new_executor(<eval_fn> clock_of_app, LONG, (), "currentTimeMillis()")


# --- all by name: (arguments, type of the result) -> Executor

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
    """A scalar function.

    Args:
        native: its name, one of FUNCTIONS.
        arguments: executors, of types the function takes. cast and convert have their target in `type`; a second
            argument, which names it, is not looked at. eventTimestamp is the form without argument.
        type: TypeCode of the result.

    Raises:
        LookupError: no function has that name.
    """
    make = FUNCTIONS.get(native)
    if make is None:
        raise LookupError(f"the core has no function '{native}'")
    cdef Executor executor = make(arguments, type)
    if executor.type != type:
        raise TypeError(f"function '{native}' gives type code {executor.type}, not {type}")
    return executor
