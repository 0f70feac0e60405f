"""The aggregators distinctCount and unionSet: values with their multiplicities."""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF, _Py_REFCNT
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from siddhi._core.aggregate.aggregator cimport Aggregator, found
from siddhi._core.aggregate.group cimport NEARBY, near
from siddhi._core.expression.executor cimport ExecC, Executor, eval_fn
from siddhi._core.index.hash_index cimport NO_ID, KeyMap
from siddhi._core.record.event cimport BOOL, CURRENT, LONG, OBJECT, STRING, TIMER, CellC, EventC
from siddhi._core.record.frame cimport NULL_VALUE, VALUE, FrameC
from siddhi._core.runtime.key_limit cimport KeyLimit
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi.errors import shown

cdef struct DistinctC:
    PyObject* values               # a KeyMap of one cell, owned; NULL while empty
    int64_t* counts                # [capacity] multiplicity by value id; owned
    Py_ssize_t capacity

cdef struct UnionC:
    PyObject* counts               # dict from element to multiplicity, owned; NULL while empty
    PyObject* result               # set returned last, owned; NULL: none


# --- distinctCount: null is a value

cdef int count_distinct(const ExecC* x, EventC* e, FrameC* f, int64_t* out) except -1:
    cdef CellC value
    cdef DistinctC* state
    cdef DistinctAggregator aggregator = <DistinctAggregator> x.value.o
    cdef int status
    value.bits = 0
    status = x.left.fn(x.left, e, f, &value)
    if aggregator.value_type == BOOL and status != NULL_VALUE:
        value.i = status
    if f.type == CURRENT:
        hold(aggregator, f.group, &value, status == NULL_VALUE)
    elif f.type != TIMER:
        remove_occurrence(aggregator, f.group, &value, status == NULL_VALUE)
    if out is NULL:
        return NULL_VALUE
    state = (<DistinctC**> x.data)[0] + f.group
    out[0] = (<KeyMap> state.values).size if state.values is not NULL else 0
    return VALUE


cdef int hold(DistinctAggregator aggregator, uint32_t group, const CellC* value, bint is_null) except -1:
    cdef DistinctC* state = <DistinctC*> aggregator.states + group
    cdef bint is_new = False
    cdef uint32_t value_id
    cdef KeyMap values
    if state.values is NULL:
        values = KeyMap((aggregator.value_type,))
        Py_INCREF(values)
        state.values = <PyObject*> values
    values = <KeyMap> state.values
    value_id = value_id_near(aggregator, values, value, is_null)
    if value_id == NO_ID:
        value_id = values.insert(value, is_null, &is_new)
        aggregator.hints[near(value.bits)] = value_id
    # Comparing objects may run any code: look up the state again.
    state = <DistinctC*> aggregator.states + group
    if is_new:
        try:
            reserve(state, <Py_ssize_t> value_id + 1)
        except:
            values.remove(value_id)
            raise
        state.counts[value_id] = 0
    state.counts[value_id] += 1
    return 0


cdef inline uint32_t value_id_near(DistinctAggregator aggregator, KeyMap values, const CellC* value, bint is_null) noexcept:
    """Return the value id of a text object seen recently; else NO_ID."""
    cdef uint32_t hint
    if aggregator.value_type != STRING or is_null:
        return NO_ID
    hint = aggregator.hints[near(value.bits)]
    if hint < values.used and values.live[hint] and values.keys[hint].bits == value.bits:
        return hint
    return NO_ID


cdef int remove_occurrence(DistinctAggregator aggregator, uint32_t group, const CellC* value, bint is_null) except -1:
    cdef DistinctC* state = <DistinctC*> aggregator.states + group
    cdef KeyMap values
    cdef uint32_t value_id
    if state.values is NULL:
        return 0
    values = <KeyMap> state.values
    value_id = value_id_near(aggregator, values, value, is_null)
    if value_id == NO_ID:
        value_id = values.find(value, is_null)
    state = <DistinctC*> aggregator.states + group
    if value_id == NO_ID or <Py_ssize_t> value_id >= state.capacity:
        return 0
    state.counts[value_id] -= 1
    if state.counts[value_id] == 0:
        values.remove(value_id)
    return 0


cdef inline int reserve(DistinctC* state, Py_ssize_t n) except -1:
    """Reserve n counts."""
    cdef int64_t* counts
    cdef Py_ssize_t capacity
    if n > state.capacity:
        capacity = max(n, 2 * state.capacity, 8)
        counts = <int64_t*> PyMem_Realloc(state.counts, capacity * sizeof(int64_t))
        if counts is NULL:
            raise MemoryError
        state.counts = counts
        state.capacity = capacity
    return 0


cdef class DistinctAggregator(Aggregator):
    """distinctCount."""

    cdef int value_type
    cdef uint32_t hints[NEARBY]    # value ids, by the address of the text

    def most_values(self):
        """Return the largest number of values of a group."""
        cdef Py_ssize_t group_id, most = 0
        cdef DistinctC* states = <DistinctC*> self.states
        for group_id in range(self.capacity):
            if states[group_id].values is not NULL:
                most = max(most, (<KeyMap> states[group_id].values).size)
        return most

    def __dealloc__(self):
        cdef Py_ssize_t group_id
        for group_id in range(self.capacity):
            discard(<DistinctC*> self.states + group_id)

    cdef int reset(self, uint32_t group_id) except -1:
        cdef DistinctC* state = <DistinctC*> self.states + group_id
        if state.values is not NULL:
            (<KeyMap> state.values).clear()
        return 0

    cdef int destroy(self, uint32_t group_id) except -1:
        discard(<DistinctC*> self.states + group_id)
        return 0

    cdef bint is_empty(self, uint32_t group_id) noexcept:
        cdef DistinctC* state = <DistinctC*> self.states + group_id
        return state.values is NULL or (<KeyMap> state.values).size == 0

    cdef bint has_room(self, EventC* event, FrameC* frame, KeyLimit limit) except -1:
        cdef CellC value
        cdef KeyMap values
        cdef int status
        if frame.group == NO_ID or (<DistinctC*> self.states)[frame.group].values is NULL:
            return limit.allows(1)
        values = <KeyMap> (<DistinctC*> self.states)[frame.group].values
        if limit.allows(values.size + 1):
            return True
        value.bits = 0
        status = self.c.left.fn(self.c.left, event, frame, &value)
        if self.value_type == BOOL and status != NULL_VALUE:
            value.i = status
        return values.find(&value, status == NULL_VALUE) != NO_ID

    cdef int write(self, uint32_t group_id, SnapshotWriter writer) except -1:
        cdef DistinctC* state = <DistinctC*> self.states + group_id
        cdef KeyMap values
        cdef uint32_t i
        writer.put_bool(state.values is not NULL)
        if state.values is not NULL:
            values = <KeyMap> state.values
            values.write(writer)
            for i in range(values.id_bound()):
                if values.is_live(i):
                    writer.put_i64(state.counts[i])
        return 0

    cdef int read(self, uint32_t group_id, SnapshotReader reader) except -1:
        cdef DistinctC* state = <DistinctC*> self.states + group_id
        cdef KeyMap values = KeyMap((self.value_type,))
        cdef uint32_t i
        discard(state)
        if not reader.get_bool():
            return 0
        values.read(reader)
        reserve(state, values.id_bound())
        for i in range(values.id_bound()):
            if values.is_live(i):
                state.counts[i] = reader.get_i64()
                if state.counts[i] <= 0:
                    raise ValueError(f"snapshot is damaged: a value has the multiplicity {state.counts[i]}")
        Py_INCREF(values)
        state.values = <PyObject*> values
        return 0


cdef void discard(DistinctC* state) noexcept:
    cdef PyObject* values = state.values
    PyMem_Free(state.counts)
    memset(state, 0, sizeof(DistinctC))
    if values is not NULL:
        Py_DECREF(<object> values)


# --- unionSet

cdef int union_of_sets(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef object elements
    cdef dict counts = counts_of((<UnionC**> x.data)[0] + f.group)
    cdef set result
    cdef UnionC* state
    if f.type != TIMER:
        elements = union_argument(x, e, f)
        # If no one else holds the set returned last, it is updated in place: building a new one would take time
        # proportional to its size.
        result = take_result((<UnionC**> x.data)[0] + f.group, counts)
        if f.type == CURRENT:
            add_elements(counts, elements, result)
        else:
            remove_elements(counts, elements, result)
    else:
        result = take_result((<UnionC**> x.data)[0] + f.group, counts)
    if out is NULL and result is None:
        return NULL_VALUE
    if result is None:
        result = set(counts)
    # Comparing elements may run any code: look up the state again.
    state = (<UnionC**> x.data)[0] + f.group
    drop_result(state)
    Py_INCREF(result)
    state.result = <PyObject*> result
    if out is not NULL:
        out[0] = state.result
    return VALUE


cdef int add_elements(dict counts, object elements, set result) except -1:
    for element in elements:
        count = counts.get(element, 0)
        counts[element] = count + 1
        if result is not None and not count:
            result.add(element)
    return 0


cdef int remove_elements(dict counts, object elements, set result) except -1:
    for element in elements:
        count = counts.get(element, 0)
        if count > 1:
            counts[element] = count - 1
        elif count:
            del counts[element]
            if result is not None:
                result.discard(element)
    return 0


cdef set take_result(UnionC* state, dict counts):
    """Return the set returned last if no one else holds it, else None. The caller takes the reference over."""
    cdef set result = None
    if state.result is not NULL:
        if _Py_REFCNT(state.result) == 1 and len(<set> <object> state.result) == len(counts):
            result = <set> <object> state.result
        drop_result(state)
    return result


cdef void drop_result(UnionC* state) noexcept:
    cdef PyObject* result = state.result
    state.result = NULL
    if result is not NULL:
        Py_DECREF(<object> result)


cdef object union_argument(const ExecC* x, EventC* e, FrameC* f):
    cdef void* argument = NULL
    cdef int status = x.left.fn(x.left, e, f, &argument)
    cdef object elements = <object> <PyObject*> argument if status == VALUE else None
    if not isinstance(elements, (set, frozenset)):
        raise TypeError(f"the aggregator unionSet(...) takes a set, not {shown(elements)}")
    return elements


cdef dict counts_of(UnionC* state):
    cdef dict counts
    if state.counts is NULL:
        counts = {}
        Py_INCREF(counts)
        state.counts = <PyObject*> counts
    return <dict> <object> state.counts


cdef class UnionAggregator(Aggregator):
    """unionSet. Every holder of a result has a set of its own, which must not be changed."""

    def most_values(self):
        """Return the largest number of elements of a group."""
        cdef Py_ssize_t group_id, most = 0
        cdef UnionC* states = <UnionC*> self.states
        for group_id in range(self.capacity):
            if states[group_id].counts is not NULL:
                most = max(most, len(<dict> <object> states[group_id].counts))
        return most

    def __dealloc__(self):
        cdef Py_ssize_t group_id
        for group_id in range(self.capacity):
            self.release_counts(<UnionC*> self.states + group_id)

    cdef void release_counts(self, UnionC* state) noexcept:
        cdef PyObject* counts = state.counts
        state.counts = NULL
        drop_result(state)
        if counts is not NULL:
            Py_DECREF(<object> counts)

    cdef int reset(self, uint32_t group_id) except -1:
        self.release_counts(<UnionC*> self.states + group_id)
        return 0

    cdef bint is_empty(self, uint32_t group_id) noexcept:
        cdef UnionC* state = <UnionC*> self.states + group_id
        return state.counts is NULL or not <dict> <object> state.counts

    cdef bint has_room(self, EventC* event, FrameC* frame, KeyLimit limit) except -1:
        cdef object elements = union_argument(&self.c, event, frame)
        cdef dict counts
        if frame.group == NO_ID or (<UnionC*> self.states)[frame.group].counts is NULL:
            return limit.allows(len(elements))
        counts = <dict> <object> (<UnionC*> self.states)[frame.group].counts
        return limit.allows(len(counts) + sum([element not in counts for element in elements]))

    cdef int write(self, uint32_t group_id, SnapshotWriter writer) except -1:
        return writer.put_object(counts_of(<UnionC*> self.states + group_id))

    cdef int read(self, uint32_t group_id, SnapshotReader reader) except -1:
        cdef object counts = reader.get_object()
        if type(counts) is not dict or not all(type(count) is int and count > 0 for count in counts.values()):
            raise ValueError("snapshot is damaged: invalid state of unionSet")
        self.release_counts(<UnionC*> self.states + group_id)
        counts_of(<UnionC*> self.states + group_id).update(counts)
        return 0


def make(str native not None, tuple arguments not None):
    """Return ``distinctCount(x)`` of any type or ``unionSet(s)`` of a set."""
    cdef Executor argument = arguments[0]
    cdef Aggregator aggregator
    cdef DistinctAggregator distinct
    if native == "unionSet":
        if argument.type != OBJECT:
            raise TypeError("unionSet takes an object")
        aggregator = UnionAggregator.__new__(UnionAggregator)
        aggregator.value_optional = True
        found(aggregator, <eval_fn> union_of_sets, OBJECT, arguments, native, sizeof(UnionC))
    else:
        distinct = DistinctAggregator.__new__(DistinctAggregator)
        distinct.value_type = argument.type
        distinct.value_optional = True
        aggregator = distinct
        found(aggregator, <eval_fn> count_distinct, LONG, arguments, native, sizeof(DistinctC))
    # Functions find the aggregator here; the pointer is valid as long as the aggregator, which contains it.
    aggregator.c.value.o = <void*> aggregator
    return aggregator
