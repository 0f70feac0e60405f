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
from siddhi._core.record.event cimport BOOL, CURRENT, FLOAT, INT, LONG, OBJECT, STRING, TIMER, CellC, EventC
from siddhi._core.record.event import TYPE_NAMES
from siddhi._core.record.exact cimport exact_text
from siddhi._core.record.frame cimport FALSE, NULL_VALUE, TRUE, VALUE, FrameC, box, unbox
from siddhi._core.runtime.sampler cimport Sampler, SpanC, profiling, sampler_here
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi.errors import shown

cdef object index_of = operator.index


cdef object call(PythonAggregator aggregator, method, tuple arguments):
    """Call a method of a user's object, and measure it where the unit is sampled."""
    cdef Sampler sampler
    cdef SpanC span
    if profiling.sampler is NULL:
        return method(*arguments)
    sampler = sampler_here()
    if sampler is None:
        return method(*arguments)
    sampler.open_span(sampler.meter_of(aggregator, "function", aggregator.name), &span)
    try:
        return method(*arguments)
    finally:
        sampler.close_span(&span)


cdef class PythonAggregator(Aggregator):
    """An aggregator of a user's class."""

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

    cdef tuple read_arguments(self, EventC* e, FrameC* f):
        cdef CellC value
        cdef Executor child
        cdef Py_ssize_t i, n = len(self.children)
        cdef object boxed, arguments = PyTuple_New(n)
        for i in range(n):
            child = <Executor> self.children[i]
            boxed = box(child.c.fn(&child.c, e, f, &value), child.type, &value)
            Py_INCREF(boxed)
            PyTuple_SET_ITEM(arguments, i, boxed)
        return arguments

    cdef int add_or_remove(self, EventC* e, FrameC* f) except -1:
        cdef bint comes = f.type == CURRENT
        cdef uint32_t group_id = f.group
        cdef tuple arguments = self.read_arguments(e, f)
        cdef object one = self.instance(group_id)
        try:
            call(self, one.add if comes else one.remove, arguments)
        except Exception as error:
            raise self.failed("add" if comes else "remove", error) from error
        (<PythonC*> self.states)[group_id].count += 1 if comes else -1
        return 0

    cdef object value_of(self, uint32_t group_id):
        one = self.instance(group_id)
        try:
            return call(self, one.value, ())
        except Exception as error:
            raise self.failed("value", error) from error

    cdef int add_all(self, uint32_t group_id, list rows) except -1:
        self.discard(<PythonC*> self.states + group_id)
        rows.sort(key=place_of)
        one = self.instance(group_id)
        try:
            for _, arguments in rows:
                one.add(*arguments)
        except Exception as error:
            raise self.failed("add", error) from error
        return 0

    cdef int create(self, uint32_t group_id) except -1:
        Aggregator.create(self, group_id)
        self.discard(<PythonC*> self.states + group_id)
        return 0

    cdef int reset(self, uint32_t group_id) except -1:
        cdef PythonC* state = <PythonC*> self.states + group_id
        state.count = 0
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
        return state.count == 0

    cdef int write(self, uint32_t group_id, SnapshotWriter writer) except -1:
        cdef PythonC* state = <PythonC*> self.states + group_id
        writer.put_bool(state.object is not NULL)
        if state.object is NULL:
            return 0
        writer.put_i64(state.count)
        one = <object> state.object
        try:
            writer.put_object(one.snapshot() if hasattr(one, "snapshot") else vars(one))
        except Exception as error:
            raise self.failed("snapshot", error) from error
        return 0

    cdef int read(self, uint32_t group_id, SnapshotReader reader) except -1:
        cdef int64_t count
        self.discard(<PythonC*> self.states + group_id)
        if not reader.get_bool():
            return 0
        count = reader.get_i64()
        content = reader.get_object()
        one = self.instance(group_id)
        try:
            if hasattr(one, "restore"):
                one.restore(content)
            else:
                vars(one).update(content)
        except Exception as error:
            raise self.failed("restore", error) from error
        (<PythonC*> self.states)[group_id].count = count
        return 0


cdef int evaluate(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef PythonAggregator self = <PythonAggregator> x.value.o
    cdef CellC cell
    cdef object value
    if f.type != TIMER:
        self.add_or_remove(e, f)
    if out is NULL and self.type != BOOL:  # the status is the value of a bool
        return NULL_VALUE
    value = self.value_of(f.group)
    if value is None:
        return NULL_VALUE
    if self.type == BOOL:
        # numpy's bool is not a bool; it is recognised by name.
        if type(value).__name__ not in ("bool", "bool_"):
            refuse(self, value)
        return TRUE if value else FALSE
    if self.type != OBJECT and isinstance(value, bool):
        refuse(self, value)
    if self.type == STRING and isinstance(value, str):
        value = exact_text(value)
    try:
        # A float is not accepted as an integer; C would truncate it.
        unbox(index_of(value) if self.type == INT or self.type == LONG else value, self.type, &cell)
    except (TypeError, OverflowError) as error:
        raise TypeError(
            f"aggregator '{self.name}' gave {shown(value)}, which is not of type {TYPE_NAMES[self.type]}") from error
    self.result = value
    memcpy(out, &cell, 4 if self.type == INT or self.type == FLOAT else 8)
    return VALUE


cdef int refuse(PythonAggregator self, object value) except -1:
    raise TypeError(f"aggregator '{self.name}' gave {shown(value)}, which is not of type {TYPE_NAMES[self.type]}")


cpdef tuple place_of(tuple row):
    """Return the place of (start, arguments) among the rows of a window: null is first, NaN last, objects have no order."""
    return (row[0], [(0, 0) if value is None else (2, 0) if value != value
                     else (1, value) if isinstance(value, (int, float, str)) else (1, 0) for value in row[1]])


def make_python_aggregator(factory not None, tuple arguments not None, int type, str name not None,
                           bint recomputed=False):
    """Return an aggregator of a user's class.

    Evaluation raises RuntimeError, chained to its cause, if the class fails, and TypeError if its value is not of the
    declared type.

    Args:
        factory: the class; called without arguments, once per group.
        arguments: executors of the arguments of add and remove.
        type: :class:`TypeCode` of the value.
        name: name of the aggregator, for messages.
        recomputed: whether a temporal window adds all of its rows for each result.
    """
    cdef PythonAggregator aggregator = PythonAggregator.__new__(PythonAggregator)
    aggregator.factory = factory
    aggregator.name = name
    aggregator.recomputed = recomputed
    found(aggregator, <eval_fn> evaluate, type, arguments, f"python {name}", sizeof(PythonC))
    # Functions find the aggregator here; the pointer is valid as long as the aggregator, which contains it.
    aggregator.c.value.o = <void*> aggregator
    return aggregator
