"""Aggregators of temporal windows: sums without drift, min and max of a multiset, deviations, time-weighted averages.

Reals are summed in two doubles, so that what values leave behind is too small to be seen. min and max keep two heaps: of the
values added, and of those removed whose turn has not come. A value at the top of both is dropped from both, so that each
change costs O(log n).
"""

cimport cython
from cpython.mem cimport PyMem_Free
from libc.math cimport fma, isinf, isnan, sqrt
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

from siddhi._core.aggregate.aggregator cimport Aggregator, found
from siddhi._core.expression.executor cimport ExecC, Executor, eval_fn
from siddhi._core.record.arena cimport enlarge
from siddhi._core.record.event cimport BOOL, CURRENT, DOUBLE, EXPIRED, FLOAT, INT, LONG, CellC, EventC
from siddhi._core.record.frame cimport NULL_VALUE, TRUE, VALUE, FrameC
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef extern from *:
    """
    #define SIDDHI_INFINITY ((double) INFINITY)
    #define SIDDHI_NOT_A_NUMBER ((double) NAN)
    """
    const double INFINITY "SIDDHI_INFINITY"
    const double NAN "SIDDHI_NOT_A_NUMBER"


cdef uint64_t SIGN = <uint64_t> 1 << 63

# --- numbers of twice the precision

cdef struct RealC:                 # high + low
    double high
    double low


cdef inline RealC exact_sum(double a, double b) noexcept:
    """Return a + b without an error."""
    cdef RealC sum
    cdef double part
    sum.high = a + b
    part = sum.high - a
    sum.low = (a - (sum.high - part)) + (b - part)
    return sum


cdef inline RealC normal(double high, double low) noexcept:
    """Return high + low, where low is much smaller."""
    cdef RealC sum
    sum.high = high + low
    sum.low = low - (sum.high - high)
    return sum


cdef RealC add_reals(RealC a, RealC b) noexcept:
    cdef RealC high = exact_sum(a.high, b.high), low = exact_sum(a.low, b.low)
    if isinf(high.high):
        return RealC(high.high, 0)             # too large for a double
    high = normal(high.high, high.low + low.high)
    return normal(high.high, high.low + low.low)


cdef RealC times(RealC a, double b) noexcept:
    cdef double product = a.high * b
    if isinf(product):
        return RealC(product, 0)
    return normal(product, fma(a.high, b, -product) + a.low * b)


cdef inline RealC negative(RealC a) noexcept:
    return RealC(-a.high, -a.low)


cdef inline double real_of_integer_rest(int64_t value, double high) noexcept:
    """Return what the nearest double leaves of an integer."""
    if high >= 9223372036854775808.0:          # 2**63, which is no int64
        return -<double> (SIGN - <uint64_t> value)
    return <double> (value - <int64_t> high)


# --- sum, avg

cdef struct SumC:
    int64_t count                  # of the values
    RealC total                    # of the finite ones
    uint32_t nans
    uint32_t infinities[2]         # negative, positive


cdef void add_to(SumC* sum, RealC value, int sign) noexcept:
    sum.count += sign
    if isnan(value.high):
        sum.nans += <uint32_t> sign
    elif isinf(value.high):
        sum.infinities[value.high > 0] += <uint32_t> sign
    else:
        sum.total = add_reals(sum.total, value if sign > 0 else negative(value))
    if sum.count == 0:
        sum.total = RealC(0, 0)


cdef double total_of(const SumC* sum) noexcept:
    if sum.nans or sum.infinities[0] and sum.infinities[1]:
        return NAN
    if sum.infinities[0]:
        return -INFINITY
    return INFINITY if sum.infinities[1] else sum.total.high


cdef bint read_real(const ExecC* argument, int code, EventC* e, FrameC* f, RealC* out) except -1:
    """Set the value of an argument; False: it is null."""
    cdef CellC value
    if argument.fn(argument, e, f, &value) != VALUE:
        return False
    out.low = 0
    if code == INT:
        out.high = value.i
    elif code == LONG:
        out.high = <double> value.l
        out.low = real_of_integer_rest(value.l, out.high)
    else:
        out.high = value.f if code == FLOAT else value.d
    return True


# ExecC.cell2: TypeCode of the argument; ExecC.word2: whether the average is wanted.
cdef int real_sum(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef SumC* state = (<SumC**> x.data)[0] + f.group
    cdef RealC value
    if (f.type == CURRENT or f.type == EXPIRED) and read_real(x.left, x.cell2, e, f, &value):
        add_to(state, value, 1 if f.type == CURRENT else -1)
    if out is NULL or state.count == 0:
        return NULL_VALUE
    out[0] = total_of(state)
    if x.word2:
        out[0] /= <double> state.count
    return VALUE


@cython.final
cdef class RealSum(Aggregator):
    """sum or avg of numbers as doubles; what has left leaves no error behind."""


def make_real_sum(str native not None, Executor argument not None):
    """Return ``avg(x)`` of a number, or ``sum(x)`` of a float or double."""
    cdef RealSum made = RealSum.__new__(RealSum)
    if argument.type not in (INT, LONG, FLOAT, DOUBLE):
        raise TypeError(f"{native} takes a number")
    found(made, <eval_fn> real_sum, DOUBLE, (argument,), native, sizeof(SumC))
    made.c.cell2 = argument.type
    made.c.word2 = native == "avg"
    return made


# --- stdDev

cdef struct MovingDeviationC:
    SumC values
    SumC squares


cdef RealC product(RealC a, RealC b) noexcept:
    cdef double high = a.high * b.high
    return normal(high, fma(a.high, b.high, -high) + (a.high * b.low + a.low * b.high))


cdef int deviation(const ExecC* x, EventC* e, FrameC* f, double* out) except -1:
    cdef MovingDeviationC* state = (<MovingDeviationC**> x.data)[0] + f.group
    cdef RealC value, total, rest
    cdef double n, squares
    cdef int sign
    if (f.type == CURRENT or f.type == EXPIRED) and read_real(x.left, x.cell2, e, f, &value):
        if not -1e140 < value.high < 1e140:        # also NaN; the square would be infinite
            value.high = NAN
        sign = 1 if f.type == CURRENT else -1
        add_to(&state.values, value, sign)
        add_to(&state.squares, value if isnan(value.high) else product(value, value), sign)
    if out is NULL or state.values.count == 0:
        return NULL_VALUE
    out[0] = NAN
    if state.values.nans:
        return VALUE
    n = <double> state.values.count
    total = times(state.squares.total, n)
    rest = add_reals(total, negative(product(state.values.total, state.values.total)))
    squares = rest.high / (n * n)
    # What is below the precision of the sums is the rounding of equal values, which the root would magnify.
    out[0] = sqrt(squares) if rest.high > 1e-29 * total.high else 0.0
    return VALUE


@cython.final
cdef class Deviation(Aggregator):
    """Standard deviation of numbers that leave in any order."""


def make_deviation(Executor argument not None):
    """Return ``stdDev(x)`` of a number."""
    cdef Deviation made = Deviation.__new__(Deviation)
    if argument.type not in (INT, LONG, FLOAT, DOUBLE):
        raise TypeError("stdDev takes a number")
    found(made, <eval_fn> deviation, DOUBLE, (argument,), "stdDev", sizeof(MovingDeviationC))
    made.c.cell2 = argument.type
    return made


# --- and, or

cdef struct MovingTruthC:
    int64_t counts[2]              # of false and of true


# ExecC.word2: whether `or` is wanted.
cdef int truth(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef MovingTruthC* state = (<MovingTruthC**> x.data)[0] + f.group
    cdef int status
    if f.type == CURRENT or f.type == EXPIRED:
        status = x.left.fn(x.left, e, f, NULL)
        if status == NULL_VALUE:
            raise ValueError("the aggregators and(...) and or(...) can't take null")
        state.counts[status == TRUE] += 1 if f.type == CURRENT else -1
    return state.counts[1] > 0 and (x.word2 or state.counts[0] == 0)


@cython.final
cdef class Truth(Aggregator):
    """Conjunction or disjunction of values that leave in any order."""


def make_truth(str native not None, Executor argument not None):
    """Return ``and(b)`` or ``or(b)`` of a bool."""
    cdef Truth made = Truth.__new__(Truth)
    if argument.type != BOOL:
        raise TypeError(f"{native} takes a bool")
    found(made, <eval_fn> truth, BOOL, (argument,), native, sizeof(MovingTruthC))
    made.c.word2 = native == "or"
    return made


# --- min, max

cdef struct KeysC:                 # heap of four children, the smallest key first: half as many cache misses as with two
    uint64_t* keys
    uint32_t n
    uint32_t capacity

cdef struct ExtremumC:
    KeysC added
    KeysC removed


cdef int keys_push(KeysC* heap, uint64_t key) except -1:
    cdef uint32_t at, parent, capacity
    cdef uint64_t* larger
    if heap.n == heap.capacity:
        capacity = max(<uint32_t> 8, 2 * heap.capacity)
        larger = <uint64_t*> enlarge(heap.keys, heap.n * sizeof(uint64_t), capacity * sizeof(uint64_t))
        if larger is NULL:
            raise MemoryError
        heap.keys = larger
        heap.capacity = capacity
    at = heap.n
    heap.n += 1
    while at > 0:
        parent = (at - 1) >> 2
        if heap.keys[parent] <= key:
            break
        heap.keys[at] = heap.keys[parent]
        at = parent
    heap.keys[at] = key
    return 0


cdef void keys_pop(KeysC* heap) noexcept:
    cdef uint32_t at = 0, child, other
    cdef uint64_t last
    heap.n -= 1
    if heap.n == 0:
        return
    last = heap.keys[heap.n]
    while True:
        child = 4 * at + 1
        if child >= heap.n:
            break
        for other in range(child + 1, min(child + 4, heap.n)):
            if heap.keys[other] < heap.keys[child]:
                child = other
        if heap.keys[child] >= last:
            break
        heap.keys[at] = heap.keys[child]
        at = child
    heap.keys[at] = last


cdef int compare_keys(const void* a, const void* b) noexcept nogil:
    cdef uint64_t x = (<const uint64_t*> a)[0], y = (<const uint64_t*> b)[0]
    return (x > y) - (x < y)


cdef void compact(ExtremumC* state) noexcept:
    """Drop the removed values from both heaps: else one small value that stays would keep all that come after it."""
    cdef uint32_t i, at = 0, n = 0
    qsort(state.added.keys, state.added.n, sizeof(uint64_t), compare_keys)
    qsort(state.removed.keys, state.removed.n, sizeof(uint64_t), compare_keys)
    for i in range(state.added.n):
        if at < state.removed.n and state.removed.keys[at] == state.added.keys[i]:
            at += 1
        else:
            state.added.keys[n] = state.added.keys[i]      # a sorted array is a heap
            n += 1
    state.added.n = n
    state.removed.n = 0


cdef uint64_t key_of_real(double value) noexcept:
    """Return a key in the order of the numbers; NaN is the greatest, and there is one zero."""
    cdef CellC cell
    if value != value:
        return <uint64_t> 0xfffffffffffffffe
    cell.d = value + 0.0
    if cell.bits >> 63:
        return ~cell.bits
    return cell.bits | <uint64_t> 1 << 63


cdef inline double real_of_key(uint64_t key) noexcept:
    cdef CellC cell
    if key == <uint64_t> 0xfffffffffffffffe:
        cell.bits = <uint64_t> 0x7ff8000000000000
    elif key >> 63:
        cell.bits = key & ~(<uint64_t> 1 << 63)
    else:
        cell.bits = ~key
    return cell.d


# ExecC.cell2: TypeCode of the argument; ExecC.word2: whether the maximum is wanted.
cdef int extremum(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef ExtremumC* state = (<ExtremumC**> x.data)[0] + f.group
    cdef CellC value
    cdef uint64_t key
    if f.type == CURRENT or f.type == EXPIRED:
        if x.left.fn(x.left, e, f, &value) == VALUE:
            if x.cell2 == INT:
                key = <uint64_t> <int64_t> value.i ^ <uint64_t> 1 << 63
            elif x.cell2 == LONG:
                key = <uint64_t> value.l ^ <uint64_t> 1 << 63
            elif x.cell2 == FLOAT:
                key = key_of_real(value.f)
            else:
                key = key_of_real(value.d)
            keys_push(&state.added if f.type == CURRENT else &state.removed, ~key if x.word2 else key)
            while state.removed.n and state.added.n and state.removed.keys[0] == state.added.keys[0]:
                keys_pop(&state.removed)
                keys_pop(&state.added)
            if state.removed.n > 32 and 2 * state.removed.n > state.added.n:
                compact(state)
    if out is NULL or state.added.n == 0:
        return NULL_VALUE
    key = ~state.added.keys[0] if x.word2 else state.added.keys[0]
    if x.cell2 == INT:
        (<int*> out)[0] = <int> <int64_t> (key ^ <uint64_t> 1 << 63)
    elif x.cell2 == LONG:
        (<int64_t*> out)[0] = <int64_t> (key ^ <uint64_t> 1 << 63)
    elif x.cell2 == FLOAT:
        (<float*> out)[0] = <float> real_of_key(key)
    else:
        (<double*> out)[0] = real_of_key(key)
    return VALUE


@cython.final
cdef class MultisetExtremum(Aggregator):
    """min or max of values that leave in any order."""

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.capacity):
            self.free_state(<uint32_t> i)

    cdef void free_state(self, uint32_t group_id) noexcept:
        cdef ExtremumC* state = (<ExtremumC*> self.states) + group_id
        PyMem_Free(state.added.keys)
        PyMem_Free(state.removed.keys)
        state.added.keys = state.removed.keys = NULL

    cdef int destroy(self, uint32_t group_id) except -1:
        self.free_state(group_id)
        return Aggregator.reset(self, group_id)

    cdef int write(self, uint32_t group_id, SnapshotWriter writer) except -1:
        cdef ExtremumC* state = (<ExtremumC*> self.states) + group_id
        compact(state)
        writer.put_u32(state.added.n)
        return writer.put_bytes(state.added.keys, state.added.n * sizeof(uint64_t))

    cdef int read(self, uint32_t group_id, SnapshotReader reader) except -1:
        cdef ExtremumC* state = (<ExtremumC*> self.states) + group_id
        cdef uint32_t i, n = reader.get_u32()
        cdef const char* cursor = <const char*> reader.take(<Py_ssize_t> n * <Py_ssize_t> sizeof(uint64_t))
        cdef uint64_t key
        for i in range(n):
            memcpy(&key, cursor + i * sizeof(uint64_t), sizeof(uint64_t))
            keys_push(&state.added, key)
        return 0

    def held(self, uint32_t group_id=0):
        """Return the number of values in both heaps, for tests."""
        cdef ExtremumC* state = (<ExtremumC*> self.states) + group_id
        self.check(group_id)
        return state.added.n + state.removed.n


def make_extremum(str native not None, Executor argument not None):
    """Return ``min(x)`` or ``max(x)`` of numbers that leave in any order."""
    cdef MultisetExtremum made = MultisetExtremum.__new__(MultisetExtremum)
    if argument.type not in (INT, LONG, FLOAT, DOUBLE):
        raise TypeError(f"{native} takes a number")
    found(made, <eval_fn> extremum, argument.type, (argument,), native, sizeof(ExtremumC))
    made.c.cell2 = argument.type
    made.c.word2 = native == "max"
    return made


# --- time-weighted average
#
# The rows alive in the window [a, b) count for b - a, less s - a where they start at s > a, less b - e where they end at
# e < b. Both corrections come from sums of x and of x times the time, so that a window costs the same however many rows are
# alive. Times are relative to a base near the window.

cdef struct PartC:
    SumC values                    # x
    SumC moments                   # x times (time - base)
    int64_t times                  # of the times - base
    int64_t base

cdef struct WeightedC:
    PartC parts[3]                 # by Part
    double total                   # of value times duration, of the window that was looked at
    double weight                  # of the durations
    double length                  # of the window


cdef int weighted(const ExecC* x, EventC* e, FrameC* f, double* out) noexcept:
    cdef WeightedC* state = (<WeightedC**> x.data)[0] + f.group
    if out is NULL or state.parts[<int> ALIVE].values.count == 0:
        return NULL_VALUE
    out[0] = state.total / (state.weight if x.word2 else state.length)
    return VALUE


@cython.final
cdef class TimeWeighted(Aggregator):
    """Time-weighted average of a number: over the window, or over the time that values cover."""

    cdef int change(self, uint32_t group_id, EventC* row, FrameC* frame, int part, int sign, int64_t time) except -1:
        cdef PartC* state = &((<WeightedC*> self.states) + group_id).parts[part]
        cdef Executor argument = self.children[0]
        cdef RealC value
        if not read_real(&argument.c, argument.type, row, frame, &value):
            return 0
        if state.values.count == 0:
            state.base = time
            state.times = 0
        add_to(&state.values, value, sign)
        if part != ALIVE:
            state.times += sign * (time - state.base)
            add_to(&state.moments, times(value, <double> (time - state.base)), sign)
        return 0

    cdef int look(self, uint32_t group_id, int64_t start, int64_t end) except -1:
        cdef WeightedC* state = (<WeightedC*> self.states) + group_id
        cdef PartC* alive = &state.parts[<int> ALIVE]
        cdef PartC* beginning = &state.parts[<int> BEGINNING]
        cdef PartC* ending = &state.parts[<int> ENDING]
        cdef RealC total = times(alive.values.total, <double> (end - start))
        # Integers wrap, so that the sums of times may be larger than 64 bits, as long as the result is not.
        cdef int64_t weight = alive.values.count * (end - start)
        if beginning.values.count:
            total = add_reals(total, times(beginning.values.total, <double> (start - beginning.base)))
            total = add_reals(total, negative(beginning.moments.total))
            weight -= beginning.times - beginning.values.count * (start - beginning.base)
        if ending.values.count:
            total = add_reals(total, negative(times(ending.values.total, <double> (end - ending.base))))
            total = add_reals(total, ending.moments.total)
            weight -= ending.values.count * (end - ending.base) - ending.times
        state.length = <double> (end - start)
        state.weight = <double> weight
        state.total = total.high
        if alive.values.nans or alive.values.infinities[0] or alive.values.infinities[1]:
            state.total = total_of(&alive.values)
        return 0


def make_time_weighted(Executor argument not None, bint covered):
    """Return ``timeWeightedAvg(x)`` of a number, over the window or over the covered time."""
    cdef TimeWeighted made = TimeWeighted.__new__(TimeWeighted)
    if argument.type not in (INT, LONG, FLOAT, DOUBLE):
        raise TypeError("timeWeightedAvg takes a number")
    found(made, <eval_fn> weighted, DOUBLE, (argument,), "timeWeightedAvg", sizeof(WeightedC))
    made.covered = covered
    made.c.word2 = covered
    return made
