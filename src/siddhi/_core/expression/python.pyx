"""Functions written in Python: extensions and scripts.

Arguments are boxed, the function is called, its result is checked against the declared type. The result of a string or
object function is owned by the executor (see executor.pxd).
"""

from cpython.float cimport PyFloat_AsDouble
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, int32_t, int64_t

import operator

from siddhi._core.expression.executor cimport ExecC, Executor, ObjectExecutor, eval_fn, keep_object
from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, CellC, EventC
from siddhi._core.record.exact cimport exact_text
from siddhi._core.record.frame cimport FALSE, NULL_VALUE, TRUE, VALUE, FrameC, box
from siddhi._core.runtime.sampler cimport Sampler, SpanC, profiling, sampler_here
from siddhi.errors import shown

cdef extern from "Python.h":
    object PyObject_Call(object callable, object arguments, PyObject* keywords)

NAMES = {STRING: "string", INT: "int", LONG: "long", FLOAT: "float", DOUBLE: "double", BOOL: "bool", OBJECT: "object"}
cdef object index_of = operator.index


cdef class PythonFunction(ObjectExecutor):
    """A call of a Python function."""

    cdef object function
    cdef str name

    cdef object call(self, EventC* e, FrameC* f):
        """Return the result for an event; RuntimeError names the function if it fails."""
        cdef CellC value
        cdef Executor child
        cdef Py_ssize_t i, n = len(self.children)
        cdef object boxed, arguments = PyTuple_New(n)
        for i in range(n):
            child = <Executor> self.children[i]
            boxed = box(child.c.fn(&child.c, e, f, &value), child.type, &value)
            Py_INCREF(boxed)
            PyTuple_SET_ITEM(arguments, i, boxed)
        try:
            if profiling.sampler is not NULL:
                return self.call_sampled(arguments)
            return PyObject_Call(self.function, arguments, NULL)
        except Exception as error:
            raise RuntimeError(f"function '{self.name}' failed: {type(error).__name__}: {error}") from error

    cdef object call_sampled(self, tuple arguments):
        """Call the function and measure it where the unit is sampled."""
        cdef Sampler sampler = sampler_here()
        cdef SpanC span
        if sampler is None:
            return PyObject_Call(self.function, arguments, NULL)
        sampler.open_span(sampler.meter_of(self, "function", self.name), &span)
        try:
            return PyObject_Call(self.function, arguments, NULL)
        finally:
            sampler.close_span(&span)

    cdef int refuse(self, object value, str why) except -1:
        raise TypeError(f"function '{self.name}' returned {shown(value)}, {why} {NAMES[self.type]}")

    cdef int integer(self, object value, int64_t low, int64_t high, int64_t* out) except -1:
        if isinstance(value, bool):
            self.refuse(value, "expected")
        try:
            value = index_of(value)
        except TypeError:
            self.refuse(value, "expected")
        if not low <= value <= high:
            self.refuse(value, "out of range for")
        out[0] = value
        return 0

    cdef int real(self, object value, double* out) except -1:
        if not isinstance(value, float):
            if isinstance(value, (bool, str)):
                self.refuse(value, "expected")
            try:
                value = float(value)
            except TypeError:
                self.refuse(value, "expected")
            except OverflowError:
                self.refuse(value, "out of range for")
        out[0] = PyFloat_AsDouble(value)
        return 0


cdef int call_for_condition(const ExecC* x, EventC* e, FrameC* f, void* unused) except -1:
    cdef PythonFunction function = <PythonFunction> x.data
    value = function.call(e, f)
    if value is None and x.slot:
        return NULL_VALUE
    if value is None or value is False:
        return FALSE
    # numpy's bool is not a bool; it is recognised by name.
    if value is not True and type(value).__name__ not in ("bool", "bool_"):
        function.refuse(value, "expected")
    return TRUE if value else FALSE


cdef int call_for_int(const ExecC* x, EventC* e, FrameC* f, int32_t* out) except -1:
    cdef PythonFunction function = <PythonFunction> x.data
    cdef int64_t integer
    value = function.call(e, f)
    if value is None:
        return NULL_VALUE
    function.integer(value, INT32_MIN, INT32_MAX, &integer)
    out[0] = <int32_t> integer
    return VALUE


cdef int call_for_long(const ExecC* x, EventC* e, FrameC* f, int64_t* out) except -1:
    cdef PythonFunction function = <PythonFunction> x.data
    value = function.call(e, f)
    if value is None:
        return NULL_VALUE
    function.integer(value, INT64_MIN, INT64_MAX, out)
    return VALUE


cdef int call_for_float(const ExecC* x, EventC* e, FrameC* f, float* out) except -1:
    cdef PythonFunction function = <PythonFunction> x.data
    cdef double real
    value = function.call(e, f)
    if value is None:
        return NULL_VALUE
    function.real(value, &real)
    out[0] = <float> real
    if out[0] - out[0] != 0 and real - real == 0:
        function.refuse(value, "out of range for")
    return VALUE


cdef int call_for_double(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef PythonFunction function = <PythonFunction> x.data
    value = function.call(e, f)
    if value is None:
        return NULL_VALUE
    function.real(value, out)
    return VALUE


cdef int call_for_text(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef PythonFunction function = <PythonFunction> x.data
    value = function.call(e, f)
    if value is None:
        return NULL_VALUE
    if not isinstance(value, str):
        function.refuse(value, "expected")
    return keep_object(x, exact_text(value), out)


cdef int call_for_object(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef PythonFunction function = <PythonFunction> x.data
    value = function.call(e, f)
    if value is None:
        return NULL_VALUE
    return keep_object(x, value, out)


cdef enum:
    N_TYPES = 7

cdef eval_fn FUNCTIONS[N_TYPES]
FUNCTIONS[<int> STRING] = <eval_fn> call_for_text
FUNCTIONS[<int> INT] = <eval_fn> call_for_int
FUNCTIONS[<int> LONG] = <eval_fn> call_for_long
FUNCTIONS[<int> FLOAT] = <eval_fn> call_for_float
FUNCTIONS[<int> DOUBLE] = <eval_fn> call_for_double
FUNCTIONS[<int> BOOL] = <eval_fn> call_for_condition
FUNCTIONS[<int> OBJECT] = <eval_fn> call_for_object


def make_python_function(callable not None, tuple arguments not None, int type, str name not None, bint nullable=False):
    """Return an executor that calls a Python function with one Python value (None for null) per argument.

    The function must return a value of the declared type, or None for null (for a bool: false). Evaluation raises
    RuntimeError, chained to its cause, if the function fails, and TypeError if the result is of another type.

    Args:
        callable: the function.
        arguments: executors.
        type: TypeCode of the result.
        name: name of the function, for messages.
        nullable: whether None is null for a bool, too.
    """
    cdef PythonFunction executor = PythonFunction.__new__(PythonFunction)
    executor.function = callable
    executor.name = name
    operands = ", ".join([(<Executor?> each).description for each in arguments])
    executor.prepare(FUNCTIONS[type], type, arguments, f"python {name}({operands})")
    executor.c.slot = nullable
    return executor
