"""The aggregators first and last over events that expire: the current values in order of arrival."""

from cpython.mem cimport PyMem_Free
from cpython.object cimport Py_EQ, PyObject, PyObject_RichCompareBool
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport uint32_t
from libc.string cimport memcpy, memset

from siddhi._core.aggregate.aggregator cimport Aggregator, found
from siddhi._core.expression.executor cimport ExecC, Executor, eval_fn
from siddhi._core.index.hash_index cimport canonical
from siddhi._core.record.event cimport BOOL, CURRENT, FLOAT, INT, OBJECT, STRING, TIMER, CellC, EventC
from siddhi._core.record.frame cimport NULL_VALUE, VALUE, FrameC, box, unbox
from siddhi._core.runtime.ring cimport double_ring
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef struct CurrentValueC:
    CellC value                    # owned, if it is an object
    bint is_null

cdef struct CurrentValuesC:
    CurrentValueC* values               # ring buffer [mask + 1], oldest first; NULL while empty
    Py_ssize_t mask
    Py_ssize_t first
    Py_ssize_t n


cdef inline CurrentValueC* at(const CurrentValuesC* state, Py_ssize_t i) noexcept:
    return &state.values[(state.first + i) & state.mask]


cdef class ArrivalAggregator(Aggregator):
    """first, last."""

    cdef int code                  # TypeCode of the values
    cdef bint is_last
    cdef object result             # keeps the object alive that the last result refers to

    def __dealloc__(self):
        cdef Py_ssize_t group_id
        for group_id in range(self.capacity):
            self.discard(<CurrentValuesC*> self.states + group_id)

    cdef bint holds_objects(self) noexcept:
        return self.code == STRING or self.code == OBJECT

    cdef void discard(self, CurrentValuesC* state) noexcept:
        cdef CurrentValuesC gone = state[0]
        cdef Py_ssize_t i
        memset(state, 0, sizeof(CurrentValuesC))
        if self.holds_objects():
            for i in range(gone.n):
                if not at(&gone, i).is_null:
                    Py_DECREF(<object> <PyObject*> at(&gone, i).value.o)
        PyMem_Free(gone.values)

    cdef int append(self, uint32_t group_id, const CellC* value, bint is_null) except -1:
        cdef CurrentValuesC* state = <CurrentValuesC*> self.states + group_id
        if state.values is NULL or state.n > state.mask:
            state.values = <CurrentValueC*> double_ring(state.values, &state.mask, &state.first, sizeof(CurrentValueC))
        state.n += 1
        at(state, state.n - 1).value = value[0]
        at(state, state.n - 1).is_null = is_null
        if self.holds_objects() and not is_null:
            Py_INCREF(<object> <PyObject*> value.o)
        return 0

    cdef bint equal(self, const CurrentValueC* one, const CellC* value, bint is_null) except -1:
        if one.is_null or is_null:
            return one.is_null and is_null
        if self.holds_objects():
            return one.value.o == value.o or PyObject_RichCompareBool(
                <object> <PyObject*> one.value.o, <object> <PyObject*> value.o, Py_EQ)
        return canonical(self.code, &one.value) == canonical(self.code, value)

    cdef int remove(self, uint32_t group_id, const CellC* value, bint is_null) except -1:
        """Remove the first equal value, if there is one. The oldest leaves most windows first."""
        cdef CurrentValuesC* state = <CurrentValuesC*> self.states + group_id
        cdef CurrentValueC gone
        cdef Py_ssize_t i = 0
        while i < state.n:
            gone = at(state, i)[0]
            if self.equal(&gone, value, is_null):
                # Comparing objects may run any code: look up the state again.
                state = <CurrentValuesC*> self.states + group_id
                while i > 0:
                    at(state, i)[0] = at(state, i - 1)[0]
                    i -= 1
                state.first = (state.first + 1) & state.mask
                state.n -= 1
                if self.holds_objects() and not gone.is_null:
                    Py_DECREF(<object> <PyObject*> gone.value.o)
                return 0
            state = <CurrentValuesC*> self.states + group_id
            i += 1
        return 0

    cdef int reset(self, uint32_t group_id) except -1:
        self.discard(<CurrentValuesC*> self.states + group_id)
        return 0

    cdef bint is_empty(self, uint32_t group_id) noexcept:
        return (<CurrentValuesC*> self.states)[group_id].n == 0

    # The state has the form of a Python aggregator's.
    cdef int write(self, uint32_t group_id, SnapshotWriter writer) except -1:
        cdef CurrentValuesC* state = <CurrentValuesC*> self.states + group_id
        cdef Py_ssize_t i
        writer.put_bool(True)
        writer.put_i64(state.n)
        return writer.put_object([self.boxed(at(state, i)) for i in range(state.n)])

    cdef object boxed(self, const CurrentValueC* one):
        if one.is_null:
            return None
        return box(one.value.i if self.code == BOOL else VALUE, self.code, &one.value)

    cdef int read(self, uint32_t group_id, SnapshotReader reader) except -1:
        cdef CellC cell
        self.reset(group_id)
        if not reader.get_bool():
            return 0
        reader.get_i64()
        for value in reader.get_object():
            cell.bits = 0
            if value is not None:
                if self.code == BOOL:
                    cell.i = bool(value)
                else:
                    unbox(value, self.code, &cell)
            self.append(group_id, &cell, value is None)
        return 0


cdef int evaluate(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef ArrivalAggregator self = <ArrivalAggregator> x.value.o
    cdef CurrentValuesC* state
    cdef CurrentValueC* chosen
    cdef CellC value
    cdef int status
    if f.type != TIMER:
        value.bits = 0
        status = x.left.fn(x.left, e, f, &value)
        if self.code == BOOL and status != NULL_VALUE:
            value.i = status
        if f.type == CURRENT:
            self.append(f.group, &value, status == NULL_VALUE)
        else:
            self.remove(f.group, &value, status == NULL_VALUE)
    state = <CurrentValuesC*> self.states + f.group
    if state.n == 0:
        return NULL_VALUE
    chosen = at(state, state.n - 1 if self.is_last else 0)
    if chosen.is_null:
        return NULL_VALUE
    if self.code == BOOL:
        return chosen.value.i
    if out is NULL:
        return NULL_VALUE
    if self.holds_objects():
        self.result = <object> <PyObject*> chosen.value.o
    memcpy(out, &chosen.value, 4 if self.code == INT or self.code == FLOAT else 8)
    return VALUE


def make(str name not None, Executor argument not None):
    """Return ``first(x)`` or ``last(x)``."""
    cdef ArrivalAggregator aggregator = ArrivalAggregator.__new__(ArrivalAggregator)
    aggregator.code = argument.type
    aggregator.is_last = name == "last"
    found(aggregator, <eval_fn> evaluate, argument.type, (argument,), name, sizeof(CurrentValuesC))
    # The function finds the aggregator here; the pointer is valid as long as the aggregator, which contains it.
    aggregator.c.value.o = <void*> aggregator
    return aggregator
