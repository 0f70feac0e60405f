"""Parameters of on-demand queries: constants whose values are set before each run of a query that was compiled once."""

cimport cython
from cpython.float cimport PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_CheckExact
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport int32_t, int64_t

from siddhi._core.expression.executor cimport ExecC, Executor, eval_fn
from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, STRING, EventC
from siddhi._core.record.frame cimport NULL_VALUE, VALUE, FrameC, unbox

cdef tuple TYPE_NAMES = ("string", "int", "long", "float", "double", "bool", "object")


cdef int64_t LEAST_INT = -0x80000000, MOST_INT = 0x7fffffff


cdef int value_8(const ExecC* x, EventC* e, FrameC* f, int64_t* out) noexcept:
    out[0] = x.value.l
    return VALUE


cdef int value_4(const ExecC* x, EventC* e, FrameC* f, int32_t* out) noexcept:
    out[0] = x.value.i
    return VALUE


cdef int value_bool(const ExecC* x, EventC* e, FrameC* f, void* out) noexcept:
    return x.value.i


cdef int no_value(const ExecC* x, EventC* e, FrameC* f, void* out) noexcept:
    return NULL_VALUE


@cython.final
cdef class ValueCopy:
    """An executor that has a copy of a parameter's value."""


@cython.final
cdef class ParameterExecutor(Executor):
    """A parameter. Its value is null until it is set.

    Comparisons with an attribute copy constants into their own structure, which makes them fast; those of a parameter are
    noted here, and get every new value.
    """

    cdef int add_copy(self, Executor user, eval_fn for_null) except -1:
        """Give an executor every new value; `for_null` is its function while that is null."""
        cdef ValueCopy copy = ValueCopy.__new__(ValueCopy)
        copy.user = user
        copy.plain = user.c.fn
        copy.for_null = for_null
        user.c.fn = for_null
        self.copies.append(copy)
        return 0

    cdef int set(self, object value) except -1:
        cdef ValueCopy copy
        cdef bint is_null = value is None
        if not is_null:
            unbox(value, self.type, &self.c.value)
        self.held = value
        if is_null != self.is_null:
            self.is_null = is_null
            self.c.fn = <eval_fn> no_value if is_null else self.plain
            for copy in self.copies:
                copy.user.c.fn = copy.for_null if is_null else copy.plain
        for copy in self.copies:
            copy.user.c.value = self.c.value
        return 0


def make_parameter(int type):
    """Return an executor whose value is set before each run."""
    cdef ParameterExecutor executor = ParameterExecutor.__new__(ParameterExecutor)
    executor.type = type
    executor.kind = PARAMETER
    executor.description = f"{TYPE_NAMES[type]} parameter"
    executor.plain = (<eval_fn> value_bool if type == BOOL else <eval_fn> value_4 if type == INT or type == FLOAT
                      else <eval_fn> value_8)
    executor.copies = []
    executor.is_null = True
    executor.c.fn = <eval_fn> no_value
    executor.adopt(())
    return executor


class ParameterMismatchError(Exception):
    """A parameter has no value, or one of another type, or there is a value without a parameter."""


cdef inline bint is_plain(object value, int type) except -1:
    """Return whether a value needs no conversion and no check."""
    if value is None:
        return True
    cdef int overflow = 0
    cdef int64_t integer
    if type == LONG or type == INT:
        if not PyLong_CheckExact(value):
            return False
        integer = PyLong_AsLongLongAndOverflow(value, &overflow)
        return overflow == 0 and (type == LONG or LEAST_INT <= integer <= MOST_INT)
    if type == STRING:
        return PyUnicode_CheckExact(value)
    if type == DOUBLE or type == FLOAT:
        return PyFloat_CheckExact(value)
    return False


@cython.final
cdef class ParameterSet:
    """The parameters of a query.

    Args:
        names: their names.
        readers: for each a function that returns a value as the Python value of the parameter's type, or raises ValueError.
        executors: for each the executors of its uses.
    """

    def __init__(self, tuple names not None, tuple readers not None, tuple executors not None):
        self.names = names
        self.readers = readers
        self.executors = executors

    cdef int set(self, dict values) except -1:
        cdef ParameterExecutor executor
        cdef Py_ssize_t i, n = len(self.names)
        if len(values) != n:
            raise ParameterMismatchError
        try:
            for i in range(n):
                value = values[self.names[i]]
                for executor in <tuple> self.executors[i]:
                    if value is executor.held:
                        continue        # the value of the last run
                    if not is_plain(value, executor.type):
                        value = self.readers[i](value)
                    executor.set(value)
        except (KeyError, ValueError):
            raise ParameterMismatchError from None
        return 0
