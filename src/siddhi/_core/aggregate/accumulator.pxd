# Accumulators: the sums, averages and counts of a fused window aggregate, which keeps arguments instead of events.
#
# The states are those of the aggregators, by group id, so the selection reads them as usual (FrameC.type TIMER: read
# only). Only the updates differ: the arguments of an event are evaluated once when it arrives (take_arguments), kept in
# eight bytes each, added, and removed when the event leaves.

from libc.stdint cimport int32_t, int64_t, int8_t, uint32_t, uint64_t, uint8_t

from siddhi._core.aggregate.sum cimport DoubleSumC, LongSumC
from siddhi._core.expression.executor cimport ExecC
from siddhi._core.record.event cimport DOUBLE, FLOAT, INT, CellC, EventC
from siddhi._core.record.frame cimport MAX_BLOCK, NULL_VALUE, VALUE, FrameC

cdef extern from "siddhi/arithmetic.h" nogil:
    int64_t siddhi_add_l(int64_t a, int64_t b)
    int64_t siddhi_sub_l(int64_t a, int64_t b)

cdef enum:
    MAX_ARGUMENTS = 32             # null bits in half a word

cdef enum AccumulatorKind:
    COUNTS
    WHOLE                          # LongSumC
    REAL                           # DoubleSumC

cdef struct ArgumentC:
    const ExecC* x
    bint variable                  # a cell of the event
    uint8_t code                   # TypeCode of its value
    bint real                      # kept as a double; otherwise as an int64

cdef struct AccumulatorC:
    char** states                  # the aggregator's array, which may move
    uint8_t kind                   # AccumulatorKind
    bint mean                      # the value is total / count
    int8_t argument                # index of the argument; -1: none

cdef class Accumulators:
    cdef readonly tuple aggregators
    cdef ArgumentC* arguments
    cdef int n_arguments
    cdef AccumulatorC* accumulators        # one per aggregator, in order
    cdef int n
    cdef bint plain                        # every argument is a cell: reading them cannot fail
    cdef int adopt(self, int i, bint real) except -1

    cdef uint64_t* values          # [n_arguments][MAX_BLOCK] arguments of a block, if `plain`
    cdef uint32_t* nulls           # [MAX_BLOCK] bit mask of null arguments
    cdef int64_t* counts           # [n][MAX_BLOCK] number of values in each result
    cdef void take_block(self, EventC** events, Py_ssize_t n) noexcept
    cdef void add_block(self, const uint32_t* group_ids, Py_ssize_t n) noexcept
    cdef void finish_block(self, Py_ssize_t n, uint64_t** data, uint8_t** valid) noexcept

cdef int take_computed(const ArgumentC* argument, EventC* event, FrameC* frame, uint64_t* out) except -1

cdef inline void take_cell(const ArgumentC* argument, const EventC* event, uint64_t* out) noexcept:
    cdef const CellC* cell = <const CellC*> &event.body[argument.x.cell]
    cdef CellC value
    if argument.code == DOUBLE:
        value.d = cell.d
    elif not argument.real:
        value.l = cell.i if argument.code == INT else cell.l
    elif argument.code == INT:
        value.d = cell.i
    elif argument.code == FLOAT:
        value.d = cell.f
    else:
        value.d = <double> cell.l
    out[0] = value.bits

cdef inline int take_arguments(Accumulators self, EventC* event, FrameC* frame, uint64_t* out,
                               uint32_t* nulls) except -1:
    """Evaluate the event's arguments; set a bit in `nulls` for each null. A failure changes nothing."""
    cdef int k
    cdef const ArgumentC* argument
    nulls[0] = 0
    for k in range(self.n_arguments):
        argument = &self.arguments[k]
        if not argument.variable:
            if take_computed(argument, event, frame, &out[k]) == NULL_VALUE:
                nulls[0] |= (<uint32_t> 1) << k
        elif event.body[argument.x.word] & argument.x.bit:
            nulls[0] |= (<uint32_t> 1) << k
            out[k] = 0
        else:
            take_cell(argument, event, &out[k])
    return 0

cdef inline void add_arguments(const AccumulatorC* accumulator, int n, uint32_t group_id, const uint64_t* values,
                               uint32_t nulls) noexcept:
    """Add an event's arguments to every accumulator of a group."""
    cdef const AccumulatorC* end = accumulator + n
    cdef LongSumC* whole
    cdef DoubleSumC* real
    while accumulator is not end:
        if accumulator.kind == COUNTS:
            (<int64_t*> accumulator.states[0])[group_id] += 1
        elif nulls and nulls >> accumulator.argument & 1:
            pass
        elif accumulator.kind == REAL:
            real = <DoubleSumC*> accumulator.states[0] + group_id
            real.total += (<const CellC*> &values[accumulator.argument]).d
            real.count += 1
        else:
            whole = <LongSumC*> accumulator.states[0] + group_id
            whole.total = siddhi_add_l(whole.total, (<const CellC*> &values[accumulator.argument]).l)
            whole.count += 1
        accumulator += 1

cdef inline void remove_arguments(const AccumulatorC* accumulator, int n, uint32_t group_id, const uint64_t* values,
                                  uint32_t nulls) noexcept:
    """Remove an event's arguments from every accumulator of a group."""
    cdef const AccumulatorC* end = accumulator + n
    cdef LongSumC* whole
    cdef DoubleSumC* real
    while accumulator is not end:
        if accumulator.kind == COUNTS:
            (<int64_t*> accumulator.states[0])[group_id] -= 1
        elif nulls and nulls >> accumulator.argument & 1:
            pass
        elif accumulator.kind == REAL:
            real = <DoubleSumC*> accumulator.states[0] + group_id
            real.total -= (<const CellC*> &values[accumulator.argument]).d
            real.count -= 1
        else:
            whole = <LongSumC*> accumulator.states[0] + group_id
            whole.total = siddhi_sub_l(whole.total, (<const CellC*> &values[accumulator.argument]).l)
            whole.count -= 1
        accumulator += 1

cdef inline void add_row(const AccumulatorC* accumulators, int n, uint32_t group_id, const uint64_t* values, uint32_t nulls,
                         Py_ssize_t j, uint64_t** data, int64_t* counts) noexcept:
    """Apply add_arguments to row j of an evaluated block; leave totals and counts for finish_block."""
    cdef const AccumulatorC* accumulator
    cdef LongSumC* whole
    cdef DoubleSumC* real
    cdef int m
    for m in range(n):
        accumulator = &accumulators[m]
        if accumulator.kind == REAL:
            real = <DoubleSumC*> accumulator.states[0] + group_id
            if not nulls >> accumulator.argument & 1:
                real.total += (<const CellC*> &values[accumulator.argument * MAX_BLOCK + j]).d
                real.count += 1
            (<double*> &data[m][j])[0] = real.total
            counts[m * MAX_BLOCK + j] = real.count
        elif accumulator.kind == WHOLE:
            whole = <LongSumC*> accumulator.states[0] + group_id
            if not nulls >> accumulator.argument & 1:
                whole.total = siddhi_add_l(whole.total, <int64_t> values[accumulator.argument * MAX_BLOCK + j])
                whole.count += 1
            data[m][j] = <uint64_t> whole.total
            counts[m * MAX_BLOCK + j] = whole.count
        else:
            (<int64_t*> accumulator.states[0])[group_id] += 1
            data[m][j] = <uint64_t> (<int64_t*> accumulator.states[0])[group_id]
            counts[m * MAX_BLOCK + j] = 1

cdef inline int accumulator_value(const AccumulatorC* accumulator, uint32_t group_id, uint64_t* out) noexcept:
    """Read the value of an accumulator for a group: the bits of a long or a double, zeros for null. VALUE or NULL_VALUE."""
    cdef const DoubleSumC* real
    cdef CellC value
    if accumulator.kind == REAL:
        real = <const DoubleSumC*> accumulator.states[0] + group_id
        if real.count == 0:
            out[0] = 0
            return NULL_VALUE
        value.d = real.total / <double> real.count if accumulator.mean else real.total
        out[0] = value.bits
        return VALUE
    if accumulator.kind == COUNTS:
        value.l = (<const int64_t*> accumulator.states[0])[group_id]
    else:
        value.l = (<const LongSumC*> accumulator.states[0])[group_id].total
        if (<const LongSumC*> accumulator.states[0])[group_id].count == 0:
            out[0] = 0
            return NULL_VALUE
    out[0] = value.bits
    return VALUE
