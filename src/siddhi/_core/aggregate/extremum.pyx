"""The aggregators min, max, minForever and maxForever. Null arguments are skipped.

min and max over expiring events keep a monotonic deque of candidates. A new value removes the worse ones before it; an
expired value removes the first equal one, if there is one. This is Siddhi's rule, confirmed by the recorded traces,
also where it loses a value that has not expired: of 3, 1, 3 under min the 1 drops the first 3, whose expiry then
removes the second 3. Without expiry one value is enough. The *Forever* forms also consider expired values and lose
none.

NaN is greater than every number, so the deque has a total order.
"""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.string cimport memcmp, memcpy

from siddhi._core.aggregate.aggregator cimport Aggregator, found
from siddhi._core.expression.executor cimport VARIABLE, ExecC, Executor, eval_fn
from siddhi._core.record.event cimport CURRENT, DOUBLE, FLOAT, INT, LONG, CellC, EventC
from siddhi._core.record.frame cimport NULL_VALUE, VALUE, FrameC
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

ctypedef fused num:                # type of the argument, and of the result
    int32_t
    int64_t
    float
    double

cdef struct LeastC:
    char unused

cdef struct GreatestC:
    char unused

# The order is known when the app is built: a tag type generates functions for each order.
ctypedef fused order_t:
    LeastC
    GreatestC

cdef struct CandidatesC:                # candidates, best first, the older first among equals
    void* items                    # [mask + 1] ring buffer of the argument's type, owned; NULL while empty
    uint32_t mask
    uint32_t head                  # index of the best one
    uint32_t size

cdef struct OneC:
    CellC value
    bint present

cdef enum:
    FIRST_CAPACITY = 8
    FEW = 24
    KEPT_CAPACITY = 1024  # a reset keeps rings up to this size, so that batches of small groups do not allocate


# --- order; ExecC.slot says whether the minimum or the maximum is wanted

cdef inline bint better(num a, num b, bint least) noexcept:
    if num is float or num is double:
        if least:
            return a < b or (b != b and a == a)
        return a > b or (a != a and b == b)
    else:
        return a < b if least else a > b


cdef inline bint identical(num a, num b) noexcept:
    """Compare as Java's boxed numbers: NaN equals itself, 0.0 differs from -0.0."""
    if num is float or num is double:
        return memcmp(&a, &b, sizeof(num)) == 0 or (a != a and b != b)
    else:
        return a == b


# --- the deque of candidates

cdef int enlarge(CandidatesC* deque, Py_ssize_t item_size) except -1:
    cdef uint32_t capacity = deque.mask + 1 if deque.items is not NULL else 0
    cdef uint32_t larger = max(<uint32_t> FIRST_CAPACITY, 2 * capacity), first
    cdef char* items = <char*> PyMem_Malloc(larger * item_size) if larger > capacity else NULL
    if items is NULL:
        raise MemoryError
    if deque.items is not NULL:
        first = min(deque.size, capacity - deque.head)
        memcpy(items, <char*> deque.items + deque.head * item_size, first * item_size)
        memcpy(items + first * item_size, deque.items, (deque.size - first) * item_size)
        PyMem_Free(deque.items)
    deque.items = items
    deque.mask = larger - 1
    deque.head = 0
    return 0


cdef inline int push(CandidatesC* deque, num value, order_t* order) except -1:
    cdef num* items = <num*> deque.items
    while deque.size > 0 and better(value, items[(deque.head + deque.size - 1) & deque.mask], order_t is LeastC):
        deque.size -= 1
    if items is NULL or deque.size > deque.mask:
        enlarge(deque, sizeof(num))
        items = <num*> deque.items
    items[(deque.head + deque.size) & deque.mask] = value
    deque.size += 1
    return 0


cdef inline bint may_contain(CandidatesC* deque, num value) noexcept:
    """Return False if the value is certainly not in the deque. Usually it left long ago and few remain: comparing
    all of them costs less than the mispredicted branches of a binary search."""
    cdef const num* items = <const num*> deque.items
    cdef uint32_t i
    cdef int seen = 0
    if deque.size > FEW or value != value:
        return True
    for i in range(deque.size):
        seen |= items[(deque.head + i) & deque.mask] == value
    return seen != 0


cdef inline void remove_value(CandidatesC* deque, num value, order_t* order) noexcept:
    cdef num* items = <num*> deque.items
    if deque.size == 0:
        return
    if identical(items[deque.head], value):
        deque.head = (deque.head + 1) & deque.mask
        deque.size -= 1
    elif not better(value, items[deque.head], order_t is LeastC) and may_contain(deque, value):
        remove_inside(deque, value, order)


cdef void remove_inside(CandidatesC* deque, num value, order_t* order) noexcept:
    """Remove the first equal value after the head, if there is one, by binary search."""
    cdef num* items = <num*> deque.items
    cdef uint32_t low = 0, high = deque.size, middle, at
    while low < high:
        middle = low + (high - low) // 2
        if better(items[(deque.head + middle) & deque.mask], value, order_t is LeastC):
            low = middle + 1
        else:
            high = middle
    # The two zeros are equal in order but are different values.
    while low < deque.size and not identical(items[(deque.head + low) & deque.mask], value):
        if better(value, items[(deque.head + low) & deque.mask], order_t is LeastC):
            return
        low += 1
    if low == deque.size:
        return
    for at in range(low, deque.size - 1):
        items[(deque.head + at) & deque.mask] = items[(deque.head + at + 1) & deque.mask]
    deque.size -= 1


cdef inline int step(const ExecC* x, FrameC* f, const num* value, num* out, order_t* order) except -1:
    """Add or remove a value (NULL: none); write the extremum unless `out` is NULL."""
    cdef CandidatesC* deque = (<CandidatesC**> x.data)[0] + f.group
    if value is NULL:
        pass
    elif f.type == CURRENT:
        push(deque, value[0], order)
    else:
        remove_value(deque, value[0], order)
    if out is NULL or deque.size == 0:
        return NULL_VALUE
    out[0] = (<num*> deque.items)[deque.head]
    return VALUE


cdef int least_var(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    return step(x, f, NULL if e.body[x.word] & x.bit else <const num*> &e.body[x.cell], out, <LeastC*> NULL)


cdef int greatest_var(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    return step(x, f, NULL if e.body[x.word] & x.bit else <const num*> &e.body[x.cell], out, <GreatestC*> NULL)


cdef int least_computed(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num value
    return step(x, f, &value if x.left.fn(x.left, e, f, &value) == VALUE else NULL, out, <LeastC*> NULL)


cdef int greatest_computed(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num value
    return step(x, f, &value if x.left.fn(x.left, e, f, &value) == VALUE else NULL, out, <GreatestC*> NULL)


# --- a single value

cdef inline void update_one(const ExecC* x, FrameC* f, num value) noexcept:
    """Consider an added value; clear the state if the removed value equals it. (Either RESET follows, or nothing
    expires.)"""
    cdef OneC* one = (<OneC**> x.data)[0] + f.group
    if f.type == CURRENT:
        consider(one, value, x.slot)
    elif one.present and identical((<num*> &one.value)[0], value):
        one.present = False


cdef inline void consider(OneC* one, num value, bint least) noexcept:
    if not one.present or better(value, (<num*> &one.value)[0], least):
        (<num*> &one.value)[0] = value
        one.present = True


cdef inline int read_one(const ExecC* x, FrameC* f, num* out) noexcept:
    cdef OneC* one = (<OneC**> x.data)[0] + f.group
    if not one.present:
        return NULL_VALUE
    out[0] = (<num*> &one.value)[0]
    return VALUE


cdef int one_var(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    if not e.body[x.word] & x.bit:
        update_one(x, f, (<const num*> &e.body[x.cell])[0])
    return read_one(x, f, out)


cdef int one_computed(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num value
    if x.left.fn(x.left, e, f, &value) == VALUE:
        update_one(x, f, value)
    return read_one(x, f, out)


cdef int forever_var(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    if not e.body[x.word] & x.bit:
        consider((<OneC**> x.data)[0] + f.group, (<const num*> &e.body[x.cell])[0], x.slot)
    return read_one(x, f, out)


cdef int forever_computed(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num value
    if x.left.fn(x.left, e, f, &value) == VALUE:
        consider((<OneC**> x.data)[0] + f.group, value, x.slot)
    return read_one(x, f, out)


# --- aggregators

cdef class DequeAggregator(Aggregator):
    """min or max over expiring events."""

    cdef Py_ssize_t item_size

    def __dealloc__(self):
        cdef Py_ssize_t group_id
        for group_id in range(self.capacity):
            PyMem_Free((<CandidatesC*> self.states)[group_id].items)

    cdef int reset(self, uint32_t group_id) except -1:
        cdef CandidatesC* deque = <CandidatesC*> self.states + group_id
        if deque.mask >= KEPT_CAPACITY:
            return self.destroy(group_id)
        deque.head = 0
        deque.size = 0
        return 0

    cdef int destroy(self, uint32_t group_id) except -1:
        cdef CandidatesC* deque = <CandidatesC*> self.states + group_id
        PyMem_Free(deque.items)
        deque.items = NULL
        deque.mask, deque.head, deque.size = 0, 0, 0
        return 0

    cdef bint is_empty(self, uint32_t group_id) noexcept:
        return (<CandidatesC*> self.states)[group_id].size == 0

    cdef int write(self, uint32_t group_id, SnapshotWriter writer) except -1:
        cdef CandidatesC* deque = <CandidatesC*> self.states + group_id
        cdef uint32_t i
        writer.put_u32(deque.size)
        for i in range(deque.size):
            writer.put_bytes(<char*> deque.items + ((deque.head + i) & deque.mask) * self.item_size, self.item_size)
        return 0

    cdef int read(self, uint32_t group_id, SnapshotReader reader) except -1:
        cdef CandidatesC* deque = <CandidatesC*> self.states + group_id
        cdef uint32_t size = reader.get_u32()
        cdef const void* items = reader.take(size * self.item_size)
        self.destroy(group_id)
        while size > 0 and (deque.items is NULL or deque.mask < size - 1):
            enlarge(deque, self.item_size)
        if size > 0:       # an empty deque may have no memory, and memcpy must not get NULL
            memcpy(deque.items, items, size * self.item_size)
        deque.size = size
        return 0


cdef class OneAggregator(Aggregator):
    """min or max without expiry; minForever, maxForever."""

    cdef bint is_empty(self, uint32_t group_id) noexcept:
        return not (<OneC*> self.states)[group_id].present

    cdef int write(self, uint32_t group_id, SnapshotWriter writer) except -1:
        cdef OneC* one = <OneC*> self.states + group_id
        writer.put_bool(one.present)
        return writer.put_bytes(&one.value, 8) if one.present else 0

    cdef int read(self, uint32_t group_id, SnapshotReader reader) except -1:
        cdef OneC* one = <OneC*> self.states + group_id
        one.present = reader.get_bool()
        if one.present:
            memcpy(&one.value, reader.take(8), 8)
        return 0


cdef enum ExtremumForm:
    DEQUE
    ONE
    FOREVER


cdef eval_fn function_of(num* unused, ExtremumForm form, bint variable, bint least) noexcept:
    if form == DEQUE and least:
        return <eval_fn> least_var[num] if variable else <eval_fn> least_computed[num]
    if form == DEQUE:
        return <eval_fn> greatest_var[num] if variable else <eval_fn> greatest_computed[num]
    if form == ONE:
        return <eval_fn> one_var[num] if variable else <eval_fn> one_computed[num]
    return <eval_fn> forever_var[num] if variable else <eval_fn> forever_computed[num]


cdef eval_fn choose(int type, ExtremumForm form, bint variable, bint least) noexcept:
    if type == INT:
        return function_of[int32_t](NULL, form, variable, least)
    if type == LONG:
        return function_of[int64_t](NULL, form, variable, least)
    if type == FLOAT:
        return function_of[float](NULL, form, variable, least)
    return function_of[double](NULL, form, variable, least)


def make(str native not None, tuple arguments not None, bint removes):
    """Return ``min(x)``, ``max(x)``, ``minForever(x)`` or ``maxForever(x)`` of a number."""
    cdef Executor argument = arguments[0]
    cdef bint variable = argument.kind == VARIABLE
    cdef ExtremumForm form = FOREVER if native.endswith("Forever") else DEQUE if removes else ONE
    cdef eval_fn fn = choose(argument.type, form, variable, native.startswith("min"))
    cdef Aggregator aggregator
    cdef DequeAggregator deque
    if argument.type not in (INT, LONG, FLOAT, DOUBLE):
        raise TypeError(f"{native} takes a number")
    if form == DEQUE:
        deque = DequeAggregator.__new__(DequeAggregator)
        deque.item_size = 4 if argument.type in (INT, FLOAT) else 8
        deque.value_optional = True
        aggregator = deque
    else:
        aggregator = OneAggregator.__new__(OneAggregator)
    found(aggregator, fn, argument.type, arguments, native, sizeof(CandidatesC) if form == DEQUE else sizeof(OneC))
    aggregator.c.slot = native.startswith("min")
    return aggregator
