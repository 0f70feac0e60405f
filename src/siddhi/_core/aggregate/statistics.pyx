"""The aggregators stdDev, and, or."""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint32_t

from siddhi._core.aggregate.aggregator cimport Aggregator, found
from siddhi._core.expression.executor cimport VARIABLE, ExecC, Executor, eval_fn
from siddhi._core.record.event cimport BOOL, CURRENT, DOUBLE, FLOAT, INT, LONG, EventC
from siddhi._core.record.frame cimport NULL_VALUE, TRUE, VALUE, FrameC

ctypedef fused num:
    int32_t
    int64_t
    float
    double

cdef struct DeviationC:
    int64_t count
    double mean
    double squares                 # sum of the squared distances from the mean
    double total

cdef struct TruthC:
    int64_t true_count
    int64_t false_count


# --- stdDev: Welford's update, in both directions

cdef int deviation_var(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    cdef DeviationC* state = (<DeviationC**> x.data)[0] + f.group
    if not e.body[x.word] & x.bit:
        move(state, f, <double> (<const num*> &e.body[x.cell])[0])
    return value_of(state, <double*> out)


cdef int deviation_computed(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num argument
    cdef int status = x.left.fn(x.left, e, f, &argument)
    cdef DeviationC* state = (<DeviationC**> x.data)[0] + f.group
    if status == VALUE:
        move(state, f, <double> argument)
    return value_of(state, <double*> out)


cdef inline void move(DeviationC* state, FrameC* f, double value) noexcept:
    if f.type == CURRENT:
        add_value(state, value)
    else:
        remove_value(state, value)


cdef inline int value_of(const DeviationC* state, double* out) noexcept:
    cdef double mean
    if out is NULL or state.count == 0:
        return NULL_VALUE
    mean = state.squares / <double> state.count
    # Rounding may make the sum of squares slightly negative.
    out[0] = sqrt(mean) if mean > 0 or mean != mean else 0.0
    return VALUE


cdef inline void add_value(DeviationC* state, double value) noexcept:
    cdef double before = state.mean
    state.count += 1
    if state.count == 0:
        return  # compensates a value removed before it was added, which some windows allow; as in Siddhi
    state.total += value
    if state.count == 1:
        state.mean = value
        state.total = value
        state.squares = 0
        return
    state.mean = state.total / <double> state.count
    state.squares += (value - before) * (value - state.mean)


cdef inline void remove_value(DeviationC* state, double value) noexcept:
    cdef double before = state.mean
    state.count -= 1
    state.total -= value
    if state.count == 0:
        state.mean = 0
        state.total = 0
        state.squares = 0
        return
    state.mean = state.total / <double> state.count
    state.squares -= (value - before) * (value - state.mean)


cdef class DeviationAggregator(Aggregator):
    """stdDev."""

    cdef bint is_empty(self, uint32_t group_id) noexcept:
        cdef DeviationC* state = <DeviationC*> self.states + group_id
        return state.count == 0 and state.total == 0


# --- and, or

cdef inline TruthC* count_truth(const ExecC* x, EventC* e, FrameC* f) except NULL:
    cdef int status = x.left.fn(x.left, e, f, NULL)
    cdef TruthC* state = (<TruthC**> x.data)[0] + f.group
    cdef int64_t step = 1 if f.type == CURRENT else -1
    if status == NULL_VALUE:
        raise ValueError("the aggregators and(...) and or(...) can't take null")
    if status == TRUE:
        state.true_count += step
    else:
        state.false_count += step
    return state


cdef int conjunction(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef TruthC* state = count_truth(x, e, f)
    return state.true_count > 0 and state.false_count == 0


cdef int disjunction(const ExecC* x, EventC* e, FrameC* f, void* out) except -1:
    cdef TruthC* state = count_truth(x, e, f)
    return state.true_count > 0


cdef class TruthAggregator(Aggregator):
    """and, or."""

    cdef bint is_empty(self, uint32_t group_id) noexcept:
        cdef TruthC* state = <TruthC*> self.states + group_id
        return state.true_count == 0 and state.false_count == 0


cdef eval_fn choose_deviation(num* unused, bint variable) noexcept:
    return <eval_fn> deviation_var[num] if variable else <eval_fn> deviation_computed[num]


def make(str native not None, tuple arguments not None):
    """Return ``stdDev(x)`` of a number; ``and(b)``, ``or(b)`` of a bool."""
    cdef Executor argument = arguments[0]
    cdef Aggregator aggregator
    cdef eval_fn fn
    if native == "stdDev":
        aggregator = DeviationAggregator.__new__(DeviationAggregator)
        aggregator.value_optional = True
        if argument.type == INT:
            fn = choose_deviation[int32_t](NULL, argument.kind == VARIABLE)
        elif argument.type == LONG:
            fn = choose_deviation[int64_t](NULL, argument.kind == VARIABLE)
        elif argument.type == FLOAT:
            fn = choose_deviation[float](NULL, argument.kind == VARIABLE)
        elif argument.type == DOUBLE:
            fn = choose_deviation[double](NULL, argument.kind == VARIABLE)
        else:
            raise TypeError("stdDev takes a number")
        found(aggregator, fn, DOUBLE, arguments, native, sizeof(DeviationC))
        return aggregator
    if argument.type != BOOL:
        raise TypeError(f"{native} takes a bool")
    aggregator = TruthAggregator.__new__(TruthAggregator)
    fn = <eval_fn> conjunction if native == "and" else <eval_fn> disjunction
    found(aggregator, fn, BOOL, arguments, native, sizeof(TruthC))
    return aggregator
