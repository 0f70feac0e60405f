"""Accumulators of fused window aggregates."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.string cimport memset

from siddhi._core.aggregate.sum cimport SumAggregator
from siddhi._core.expression.executor cimport VARIABLE, Executor
from siddhi._core.record.event cimport LONG


cdef class Accumulators:
    """The accumulators of a selection's aggregators.

    Args:
        aggregators: all aggregators of a selection, each ``sum``, ``avg`` or ``count``. Equal arguments are kept once.
    """

    def __cinit__(self, list aggregators not None):
        cdef int i
        cdef bint is_long
        cdef SumAggregator aggregator
        self.aggregators = tuple(aggregators)
        self.n = len(self.aggregators)
        self.arguments = <ArgumentC*> PyMem_Malloc(max(1, self.n) * sizeof(ArgumentC))
        self.accumulators = <AccumulatorC*> PyMem_Malloc(max(1, self.n) * sizeof(AccumulatorC))
        if self.arguments is NULL or self.accumulators is NULL:
            raise MemoryError
        self.plain = True
        for i in range(self.n):
            aggregator = self.aggregators[i]
            self.accumulators[i].states = &aggregator.states
            self.accumulators[i].mean = aggregator.native == "avg"
            self.accumulators[i].argument = -1
            if aggregator.native == "count":
                self.accumulators[i].kind = COUNTS
            else:
                is_long = aggregator.stride == sizeof(LongSumC) and is_whole(aggregator)
                self.accumulators[i].kind = WHOLE if is_long else REAL
                self.accumulators[i].argument = <int8_t> self.adopt(i, self.accumulators[i].kind == REAL)
        if self.n_arguments > MAX_ARGUMENTS:
            raise ValueError(f"more than {MAX_ARGUMENTS} different arguments of aggregators")
        self.values = <uint64_t*> PyMem_Malloc(max(1, self.n_arguments) * MAX_BLOCK * sizeof(uint64_t))
        self.nulls = <uint32_t*> PyMem_Malloc(MAX_BLOCK * sizeof(uint32_t))
        self.counts = <int64_t*> PyMem_Malloc(max(1, self.n) * MAX_BLOCK * sizeof(int64_t))
        if self.values is NULL or self.nulls is NULL or self.counts is NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_Free(self.arguments)
        PyMem_Free(self.accumulators)
        PyMem_Free(self.values)
        PyMem_Free(self.nulls)
        PyMem_Free(self.counts)

    cdef void take_block(self, EventC** events, Py_ssize_t n) noexcept:
        """Read the arguments of a block of events; all must be plain cells."""
        cdef const ArgumentC* argument
        cdef uint64_t* out
        cdef Py_ssize_t j
        cdef int k, cell, word
        cdef uint64_t bit, nulls
        memset(self.nulls, 0, n * sizeof(uint32_t))
        for k in range(self.n_arguments):
            argument = &self.arguments[k]
            cell, word, bit = argument.x.cell, argument.x.word, argument.x.bit
            out = self.values + k * MAX_BLOCK
            nulls = 0
            if argument.code == DOUBLE or (argument.code == LONG and not argument.real):
                for j in range(n):
                    nulls |= events[j].body[word]
                    out[j] = events[j].body[cell]
            else:
                for j in range(n):
                    nulls |= events[j].body[word]
                    take_cell(argument, events[j], &out[j])
            if nulls & bit:
                for j in range(n):
                    if events[j].body[word] & bit:
                        self.nulls[j] |= (<uint32_t> 1) << k

    cdef void add_block(self, const uint32_t* group_ids, Py_ssize_t n) noexcept:
        """Add the evaluated arguments of a block to every accumulator; row j belongs to group_ids[j]."""
        cdef const AccumulatorC* accumulator
        cdef LongSumC* whole
        cdef DoubleSumC* real
        cdef int64_t* counts
        cdef const uint64_t* values
        cdef Py_ssize_t j
        cdef int m
        for m in range(self.n):
            accumulator = &self.accumulators[m]
            if accumulator.kind == COUNTS:
                counts = <int64_t*> accumulator.states[0]
                for j in range(n):
                    counts[group_ids[j]] += 1
                continue
            values = self.values + accumulator.argument * MAX_BLOCK
            if accumulator.kind == REAL:
                for j in range(n):
                    if not self.nulls[j] >> accumulator.argument & 1:
                        real = <DoubleSumC*> accumulator.states[0] + group_ids[j]
                        real.total += (<const CellC*> &values[j]).d
                        real.count += 1
            else:
                for j in range(n):
                    if not self.nulls[j] >> accumulator.argument & 1:
                        whole = <LongSumC*> accumulator.states[0] + group_ids[j]
                        whole.total = siddhi_add_l(whole.total, <int64_t> values[j])
                        whole.count += 1

    cdef void finish_block(self, Py_ssize_t n, uint64_t** data, uint8_t** valid) noexcept:
        """Compute the results of a block from totals and counts."""
        cdef const int64_t* counts
        cdef double* means
        cdef Py_ssize_t j
        cdef int m
        cdef int64_t fewest
        for m in range(self.n):
            counts = self.counts + m * MAX_BLOCK
            fewest = 1
            for j in range(n):
                fewest = min(fewest, counts[j])
            if self.accumulators[m].mean:
                means = <double*> data[m]
                for j in range(n):
                    means[j] = means[j] / <double> counts[j]
            if fewest < 1:
                for j in range(n):
                    if counts[j] == 0:
                        valid[m][j] = 0
                        data[m][j] = 0

    cdef int adopt(self, int i, bint real) except -1:
        """Return the index of an aggregator's argument; add it if it is new."""
        cdef Executor argument = (<SumAggregator> self.aggregators[i]).children[0]
        cdef ArgumentC* known
        cdef bint variable = argument.kind == VARIABLE
        cdef int k
        for k in range(self.n_arguments):
            known = &self.arguments[k]
            if variable and known.variable and known.real == real and known.x.cell == argument.c.cell:
                return k
        k = self.n_arguments
        self.arguments[k].x = &argument.c
        self.arguments[k].variable = variable
        self.arguments[k].code = argument.type
        self.arguments[k].real = real
        self.n_arguments += 1
        self.plain = self.plain and variable
        return k


cdef bint is_whole(SumAggregator aggregator):
    cdef Executor argument = aggregator.children[0]
    return aggregator.native == "sum" and argument.type != FLOAT and argument.type != DOUBLE


cdef int take_computed(const ArgumentC* argument, EventC* event, FrameC* frame, uint64_t* out) except -1:
    cdef CellC value, kept
    cdef int status = argument.x.fn(argument.x, event, frame, &value)
    out[0] = 0
    if status == NULL_VALUE:
        return NULL_VALUE
    if argument.code == INT:
        value.l = value.i
    if not argument.real:
        kept.l = value.l
    elif argument.code == DOUBLE:
        kept.d = value.d
    elif argument.code == FLOAT:
        kept.d = value.f
    else:
        kept.d = <double> value.l
    out[0] = kept.bits
    return VALUE
