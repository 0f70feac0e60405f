"""The aggregators sum, avg and count.

sum and avg skip null arguments, count counts them. After the removal of the last value the result is null (0 for
count); the rounding error left in the sum stays there.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t

from siddhi._core.aggregate.aggregator cimport Aggregator, found
from siddhi._core.expression.executor cimport COMPUTED, VARIABLE, ExecC, Executor, eval_fn
from siddhi._core.record.event cimport CURRENT, DOUBLE, EXPIRED, FLOAT, INT, LONG, CellC, EventC
from siddhi._core.record.frame cimport NULL_VALUE, VALUE, FrameC

cdef extern from "siddhi/arithmetic.h" nogil:
    int64_t siddhi_add_l(int64_t a, int64_t b)
    int64_t siddhi_sub_l(int64_t a, int64_t b)

ctypedef fused num:                # type of the argument
    int32_t
    int64_t
    float
    double

ctypedef fused whole:
    int32_t
    int64_t

ctypedef fused real:
    float
    double

# --- addition or removal of a value; any other event type only reads

cdef inline void take_whole(LongSumC* state, FrameC* f, int64_t value) noexcept:
    if f.type == CURRENT:
        state.total = siddhi_add_l(state.total, value)
        state.count += 1
    elif f.type == EXPIRED:
        state.total = siddhi_sub_l(state.total, value)
        state.count -= 1


cdef inline void take_real(DoubleSumC* state, FrameC* f, double value) noexcept:
    if f.type == CURRENT:
        state.total += value
        state.count += 1
    elif f.type == EXPIRED:
        state.total -= value
        state.count -= 1


# --- sum: of a cell of the current event, or of a computed value. `out` has the type of the argument (see the first
# line). It is NULL if only the state is needed: then no result is computed.
# An added value returns the total even if it only compensates a value removed before it was added.

cdef int sum_whole_var(const ExecC* x, EventC* e, FrameC* f, whole* out) noexcept:
    cdef LongSumC* state = (<LongSumC**> x.data)[0] + f.group
    if not e.body[x.word] & x.bit:
        take_whole(state, f, (<const whole*> &e.body[x.cell])[0])
    if out is NULL or (state.count == 0 and (f.type != CURRENT or e.body[x.word] & x.bit)):
        return NULL_VALUE
    (<int64_t*> out)[0] = state.total
    return VALUE


cdef int sum_whole_computed(const ExecC* x, EventC* e, FrameC* f, whole* out) except -1:
    cdef whole value
    cdef int status = x.left.fn(x.left, e, f, &value)
    cdef LongSumC* state = (<LongSumC**> x.data)[0] + f.group
    if status == VALUE:
        take_whole(state, f, value)
    if out is NULL or (state.count == 0 and (f.type != CURRENT or status != VALUE)):
        return NULL_VALUE
    (<int64_t*> out)[0] = state.total
    return VALUE


cdef int sum_real_var(const ExecC* x, EventC* e, FrameC* f, real* out) noexcept:
    cdef DoubleSumC* state = (<DoubleSumC**> x.data)[0] + f.group
    if not e.body[x.word] & x.bit:
        take_real(state, f, (<const real*> &e.body[x.cell])[0])
    if out is NULL or (state.count == 0 and (f.type != CURRENT or e.body[x.word] & x.bit)):
        return NULL_VALUE
    (<double*> out)[0] = state.total
    return VALUE


cdef int sum_real_computed(const ExecC* x, EventC* e, FrameC* f, real* out) except -1:
    cdef real value
    cdef int status = x.left.fn(x.left, e, f, &value)
    cdef DoubleSumC* state = (<DoubleSumC**> x.data)[0] + f.group
    if status == VALUE:
        take_real(state, f, value)
    if out is NULL or (state.count == 0 and (f.type != CURRENT or status != VALUE)):
        return NULL_VALUE
    (<double*> out)[0] = state.total
    return VALUE


# --- avg

cdef int avg_var(const ExecC* x, EventC* e, FrameC* f, num* out) noexcept:
    cdef DoubleSumC* state = (<DoubleSumC**> x.data)[0] + f.group
    if not e.body[x.word] & x.bit:
        take_real(state, f, <double> (<const num*> &e.body[x.cell])[0])
    if out is NULL or state.count == 0:
        return NULL_VALUE
    (<double*> out)[0] = state.total / <double> state.count
    return VALUE


cdef int avg_computed(const ExecC* x, EventC* e, FrameC* f, num* out) except -1:
    cdef num value
    cdef int status = x.left.fn(x.left, e, f, &value)
    cdef DoubleSumC* state = (<DoubleSumC**> x.data)[0] + f.group
    if status == VALUE:
        take_real(state, f, <double> value)
    if out is NULL or state.count == 0:
        return NULL_VALUE
    (<double*> out)[0] = state.total / <double> state.count
    return VALUE


# --- count

cdef int count_events(const ExecC* x, EventC* e, FrameC* f, int64_t* out) noexcept:
    cdef int64_t* state = (<int64_t**> x.data)[0] + f.group
    if f.type == CURRENT:
        state[0] += 1
    elif f.type == EXPIRED:
        state[0] -= 1
    if out is NULL:
        return NULL_VALUE
    out[0] = state[0]
    return VALUE


cdef int count_computed(const ExecC* x, EventC* e, FrameC* f, int64_t* out) except -1:
    # The value is ignored, but an aggregator inside the argument must see the event.
    cdef CellC unused
    x.left.fn(x.left, e, f, &unused)
    return count_events(x, e, f, out)


cdef class SumAggregator(Aggregator):
    """sum, avg or count; every state begins with its count."""

    def keep_remainder(self):
        """Keep groups whose sum has no values but is nonzero (joins). Call it before the first event."""
        self.keeps_remainder = self.stride > <Py_ssize_t> sizeof(int64_t)

    cdef bint is_empty(self, uint32_t group_id) noexcept:
        cdef LongSumC* state = <LongSumC*> (self.states + <Py_ssize_t> group_id * self.stride)
        # The remainder of either type is compared as bits; -0.0 counts as zero.
        return state.count == 0 and not (self.keeps_remainder and state.total << 1 != 0)


cdef eval_fn choose_sum(int type, bint variable) noexcept:
    if type == INT:
        return <eval_fn> sum_whole_var[int32_t] if variable else <eval_fn> sum_whole_computed[int32_t]
    if type == LONG:
        return <eval_fn> sum_whole_var[int64_t] if variable else <eval_fn> sum_whole_computed[int64_t]
    if type == FLOAT:
        return <eval_fn> sum_real_var[float] if variable else <eval_fn> sum_real_computed[float]
    return <eval_fn> sum_real_var[double] if variable else <eval_fn> sum_real_computed[double]


cdef eval_fn choose_avg(int type, bint variable) noexcept:
    if type == INT:
        return <eval_fn> avg_var[int32_t] if variable else <eval_fn> avg_computed[int32_t]
    if type == LONG:
        return <eval_fn> avg_var[int64_t] if variable else <eval_fn> avg_computed[int64_t]
    if type == FLOAT:
        return <eval_fn> avg_var[float] if variable else <eval_fn> avg_computed[float]
    return <eval_fn> avg_var[double] if variable else <eval_fn> avg_computed[double]


def make(str native not None, tuple arguments not None):
    """Return ``sum(x)``, ``avg(x)`` of a number; ``count()``, ``count(x)`` of anything."""
    cdef SumAggregator aggregator = SumAggregator.__new__(SumAggregator)
    cdef Executor argument
    aggregator.native = native
    aggregator.value_optional = True
    if native == "count":
        argument = arguments[0] if arguments else None
        found(aggregator, <eval_fn> count_computed if argument is not None and argument.kind == COMPUTED
              else <eval_fn> count_events, LONG, arguments, native, sizeof(int64_t))
        return aggregator
    argument = arguments[0]
    if argument.type not in (INT, LONG, FLOAT, DOUBLE):
        raise TypeError(f"{native} takes a number")
    variable = argument.kind == VARIABLE
    if native == "avg":
        found(aggregator, choose_avg(argument.type, variable), DOUBLE, arguments, native, sizeof(DoubleSumC))
    elif argument.type in (INT, LONG):
        found(aggregator, choose_sum(argument.type, variable), LONG, arguments, native, sizeof(LongSumC))
    else:
        found(aggregator, choose_sum(argument.type, variable), DOUBLE, arguments, native, sizeof(DoubleSumC))
    return aggregator
