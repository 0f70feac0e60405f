"""Aggregators written in Python: an object of the user's class per group id.

The class has ``add(*values)``, ``remove(*values)``, ``reset()`` and ``value()``; null is None. It may have
``is_empty()``, which returns whether its group may be dropped; without it, when as many events were removed as added.
For snapshots it may have ``snapshot()`` and ``restore(state)`` with a state of built-in types; without them the
attributes of the object are saved.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memcpy, memset

import operator

from siddhi._core.aggregate.aggregator cimport Aggregator, found
from siddhi._core.expression.executor cimport ExecC, Executor, eval_fn
from siddhi._core.record.event cimport BOOL, CURRENT, FLOAT, INT, LONG, OBJECT, CellC, EventC
from siddhi._core.record.frame cimport FALSE, NULL_VALUE, TRUE, VALUE, FrameC, box, unbox
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi.errors import shown

cdef struct PythonC:
    PyObject* object               # of the user's class, owned; NULL: the group id has not been created
    int64_t held                   # number of events added and not removed

cdef object index_of = operator.index

_TYPE_NAMES = ("string", "int", "long", "float", "double", "bool", "object")


cdef class PythonAggregator(Aggregator):
    """An aggregator of a user's class."""

    cdef object factory
    cdef str name
    cdef object result             # last value: keeps what `out` refers to alive until the next one

    def __dealloc__(self):
        cdef Py_ssize_t group_id
        for group_id in range(self.capacity):
            self.discard(<PythonC*> self.states + group_id)

    cdef void discard(self, PythonC* state) noexcept:
        cdef PyObject* one = state.object
        memset(state, 0, sizeof(PythonC))
        if one is not NULL:
            Py_DECREF(<object> one)

    cdef object failed(self, str method, object error):
        return RuntimeError(f"aggregator '{self.name}' failed in {method}: {type(error).__name__}: {error}")

    cdef object instance(self, uint32_t group_id):
        """Return the object of a group id; create it if there is none."""
        cdef PythonC* state = <PythonC*> self.states + group_id
        cdef object one
        if state.object is NULL:
            try:
                one = self.factory()
            except Exception as error:
                raise self.failed("its constructor", error) from error
            # The constructor may have run any code, even this method.
            state = <PythonC*> self.states + group_id
            if state.object is NULL:
                Py_INCREF(one)
                state.object = <PyObject*> one
        return <object> state.object

    cdef object update(self, const ExecC* x, EventC* e, FrameC* f):
        """Add or remove the event; return the new value."""
        cdef CellC value
        cdef Executor child
        cdef Py_ssize_t i, n = len(self.children)
        cdef object boxed, one, arguments = PyTuple_New(n)
        cdef bint comes = f.type == CURRENT
        cdef uint32_t group_id = f.group
        for i in range(n):
            child = <Executor> self.children[i]
            boxed = box(child.c.fn(&child.c, e, f, &value), child.type, &value)
            Py_INCREF(boxed)
            PyTuple_SET_ITEM(arguments, i, boxed)
        one = self.instance(group_id)
        try:
            if comes:
                one.add(*arguments)
            else:
                one.remove(*arguments)
        except Exception as error:
            raise self.failed("add" if comes else "remove", error) from error
        (<PythonC*> self.states)[group_id].held += 1 if comes else -1
        try:
            return one.value()
        except Exception as error:
            raise self.failed("value", error) from error

    cdef int create(self, uint32_t group_id) except -1:
        Aggregator.create(self, group_id)
        self.discard(<PythonC*> self.states + group_id)
        return 0

    cdef int reset(self, uint32_t group_id) except -1:
        cdef PythonC* state = <PythonC*> self.states + group_id
        state.held = 0
        if state.object is not NULL:
            try:
                (<object> state.object).reset()
            except Exception as error:
                raise self.failed("reset", error) from error
        return 0

    cdef int destroy(self, uint32_t group_id) except -1:
        self.discard(<PythonC*> self.states + group_id)
        return 0

    cdef bint is_empty(self, uint32_t group_id) noexcept:
        cdef PythonC* state = <PythonC*> self.states + group_id
        if state.object is NULL:
            return True
        one = <object> state.object
        if hasattr(one, "is_empty"):
            return bool(one.is_empty())
        return state.held == 0

    cdef int write(self, uint32_t group_id, SnapshotWriter writer) except -1:
        cdef PythonC* state = <PythonC*> self.states + group_id
        writer.put_bool(state.object is not NULL)
        if state.object is NULL:
            return 0
        writer.put_i64(state.held)
        one = <object> state.object
        try:
            writer.put_object(one.snapshot() if hasattr(one, "snapshot") else vars(one))
        except Exception as error:
            raise self.failed("snapshot", error) from error
        return 0

    cdef int read(self, uint32_t group_id, SnapshotReader reader) except -1:
        cdef int64_t held
        self.discard(<PythonC*> self.states + group_id)
        if not reader.get_bool():
            return 0
        held = reader.get_i64()
        content = reader.get_object()
        one = self.instance(group_id)
        try:
            if hasattr(one, "restore"):
                one.restore(content)
            else:
                vars(one).update(content)
        except Exception as error:
            raise self.failed("restore", error) from error
        (<PythonC*> self.states)[group_id].held = held
        return 0


cdef int evaluate(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef PythonAggregator self = <PythonAggregator> x.value.o
    cdef CellC cell
    cdef object value = self.update(x, e, f)
    if value is None:
        return NULL_VALUE
    if self.type == BOOL:
        # numpy's bool is not a bool; it is recognised by name.
        if type(value).__name__ not in ("bool", "bool_"):
            refuse(self, value)
        return TRUE if value else FALSE
    if self.type != OBJECT and isinstance(value, bool):
        refuse(self, value)
    try:
        # A float is not accepted as an integer; C would truncate it.
        unbox(index_of(value) if self.type == INT or self.type == LONG else value, self.type, &cell)
    except (TypeError, OverflowError) as error:
        raise TypeError(
            f"aggregator '{self.name}' gave {shown(value)}, which is not of type {_TYPE_NAMES[self.type]}") from error
    self.result = value
    memcpy(out, &cell, 4 if self.type == INT or self.type == FLOAT else 8)
    return VALUE


cdef int refuse(PythonAggregator self, object value) except -1:
    raise TypeError(f"aggregator '{self.name}' gave {shown(value)}, which is not of type {_TYPE_NAMES[self.type]}")


def make_python_aggregator(factory not None, tuple arguments not None, int type, str name not None):
    """Return an aggregator of a user's class.

    Evaluation raises RuntimeError, chained to its cause, if the class fails, and TypeError if its value is not of the
    declared type.

    Args:
        factory: the class; called without arguments, once per group.
        arguments: executors of the arguments of add and remove.
        type: :class:`TypeCode` of the value.
        name: name of the aggregator, for messages.
    """
    cdef PythonAggregator aggregator = PythonAggregator.__new__(PythonAggregator)
    aggregator.factory = factory
    aggregator.name = name
    found(aggregator, <eval_fn> evaluate, type, arguments, f"python {name}", sizeof(PythonC))
    # Functions find the aggregator here; the pointer is valid as long as the aggregator, which contains it.
    aggregator.c.value.o = <void*> aggregator
    return aggregator
