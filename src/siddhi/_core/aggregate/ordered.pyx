"""The aggregators median and percentile: the current numbers in order."""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memmove, memset

from siddhi._core.aggregate.aggregator cimport Aggregator, found
from siddhi._core.expression.arithmetic import make_widen
from siddhi._core.expression.executor cimport ExecC, Executor, eval_fn
from siddhi._core.record.event cimport CURRENT, DOUBLE, TIMER, EventC
from siddhi._core.record.frame cimport NULL_VALUE, VALUE, FrameC
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef struct OrderedC:
    double* values                 # [capacity] in ascending order, owned; NULL while empty
    Py_ssize_t n
    Py_ssize_t capacity
    int64_t events                 # added and not removed, those without a number included


cdef inline Py_ssize_t place_of(const OrderedC* state, double value) noexcept:
    """Return the index of the first value that is not less. Without branches: they would be mispredicted."""
    cdef const double* base = state.values
    cdef Py_ssize_t n = state.n, half
    if n == 0:
        return 0
    while n > 1:
        half = n // 2
        base += half * (base[half - 1] < value)
        n -= half
    return (base - state.values) + (base[0] < value)


cdef inline int insert(OrderedC* state, double value) except -1:
    cdef Py_ssize_t at, capacity
    cdef double* values
    if state.n == state.capacity:
        capacity = max(<Py_ssize_t> 16, 2 * state.capacity)
        values = <double*> PyMem_Realloc(state.values, capacity * sizeof(double))
        if values is NULL:
            raise MemoryError
        state.values = values
        state.capacity = capacity
    at = place_of(state, value)
    memmove(&state.values[at + 1], &state.values[at], (state.n - at) * sizeof(double))
    state.values[at] = value
    state.n += 1
    return 0


cdef inline void remove(OrderedC* state, double value) noexcept:
    cdef Py_ssize_t at = place_of(state, value)
    if at < state.n and state.values[at] == value:
        state.n -= 1
        memmove(&state.values[at], &state.values[at + 1], (state.n - at) * sizeof(double))


cdef inline int update(const ExecC* x, EventC* e, FrameC* f) except -1:
    cdef OrderedC* state
    cdef double value
    cdef int status
    if f.type == TIMER:
        return 0
    status = x.left.fn(x.left, e, f, &value)
    state = (<OrderedC**> x.data)[0] + f.group
    state.events += 1 if f.type == CURRENT else -1
    if status == NULL_VALUE or value != value:
        return 0
    if f.type == CURRENT:
        insert(state, value)
    else:
        remove(state, value)
    return 0


cdef int median(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef OrderedC* state
    cdef double low, high
    update(x, e, f)
    state = (<OrderedC**> x.data)[0] + f.group
    if out is NULL or state.n == 0:
        return NULL_VALUE
    low, high = state.values[(state.n - 1) // 2], state.values[state.n // 2]
    out[0] = low if low == high else low / 2 + high / 2
    return VALUE


cdef int percentile(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef OrderedC* state
    cdef double position, low, high
    cdef Py_ssize_t below
    update(x, e, f)
    state = (<OrderedC**> x.data)[0] + f.group
    if out is NULL or state.n == 0:
        return NULL_VALUE
    position = x.value.d / 100 * (state.n + 1)
    below = <Py_ssize_t> position
    if below < 1:
        out[0] = state.values[0]
    elif below >= state.n:
        out[0] = state.values[state.n - 1]
    else:
        low, high = state.values[below - 1], state.values[below]
        out[0] = low if low == high else low + (position - below) * (high - low)
    return VALUE


cdef class OrderedAggregator(Aggregator):
    """median, percentile."""

    def __dealloc__(self):
        cdef Py_ssize_t group_id
        for group_id in range(self.capacity):
            PyMem_Free((<OrderedC*> self.states)[group_id].values)

    cdef int reset(self, uint32_t group_id) except -1:
        cdef OrderedC* state = <OrderedC*> self.states + group_id
        state.n = 0
        state.events = 0
        return 0

    cdef int destroy(self, uint32_t group_id) except -1:
        cdef OrderedC* state = <OrderedC*> self.states + group_id
        PyMem_Free(state.values)
        memset(state, 0, sizeof(OrderedC))
        return 0

    cdef bint is_empty(self, uint32_t group_id) noexcept:
        return (<OrderedC*> self.states)[group_id].events == 0

    # The state has the form of a Python aggregator's.
    cdef int write(self, uint32_t group_id, SnapshotWriter writer) except -1:
        cdef OrderedC* state = <OrderedC*> self.states + group_id
        cdef Py_ssize_t i
        writer.put_bool(True)
        writer.put_i64(state.events)
        return writer.put_object({"values": [state.values[i] for i in range(state.n)]})

    cdef int read(self, uint32_t group_id, SnapshotReader reader) except -1:
        cdef OrderedC* state
        self.reset(group_id)
        if not reader.get_bool():
            return 0
        events = reader.get_i64()
        values = reader.get_object()["values"]
        state = <OrderedC*> self.states + group_id
        state.events = events
        for value in values:
            insert(state, value)
        return 0


def make(str name not None, tuple arguments not None):
    """Return ``median(x)`` or ``percentile(x, p)`` of a number; p is a literal."""
    cdef OrderedAggregator aggregator = OrderedAggregator.__new__(OrderedAggregator)
    cdef Executor argument = arguments[0], percent
    number = argument if argument.type == DOUBLE else make_widen(argument, DOUBLE)
    found(aggregator, <eval_fn> median if name == "median" else <eval_fn> percentile, DOUBLE, (number,), name,
          sizeof(OrderedC))
    aggregator.value_optional = True
    if name != "median":
        percent = arguments[1]
        aggregator.c.value.d = percent.c.value.d
    return aggregator
