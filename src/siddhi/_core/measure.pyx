"""Measures of operators that keep arguments instead of events."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc

from siddhi._core.aggregator_sum cimport SumAggregator
from siddhi._core.executor cimport VARIABLE, Executor


cdef class Measures:
    """The measures behind aggregators.

    Args:
        aggregators: all of a selection, each ``sum``, ``avg`` or ``count``. Arguments that are the same cell are kept
            once.
    """

    def __cinit__(self, list aggregators not None):
        cdef int i
        cdef SumAggregator aggregator
        self.aggregators = tuple(aggregators)
        self.n = len(self.aggregators)
        self.arguments = <ArgumentC*> PyMem_Malloc(max(1, self.n) * sizeof(ArgumentC))
        self.measures = <MeasureC*> PyMem_Malloc(max(1, self.n) * sizeof(MeasureC))
        if self.arguments is NULL or self.measures is NULL:
            raise MemoryError
        self.plain = True
        for i in range(self.n):
            aggregator = self.aggregators[i]
            self.measures[i].states = &aggregator.states
            self.measures[i].mean = aggregator.native == "avg"
            self.measures[i].argument = -1
            if aggregator.native == "count":
                self.measures[i].kind = COUNTS
            else:
                self.measures[i].kind = WHOLE if aggregator.stride == sizeof(LongSumC) and is_whole(aggregator) else REAL
                self.measures[i].argument = <int8_t> self.adopt(i, self.measures[i].kind == REAL)
        if self.n_arguments > MAX_ARGUMENTS:
            raise ValueError(f"more than {MAX_ARGUMENTS} different arguments of aggregators")

    def __dealloc__(self):
        PyMem_Free(self.arguments)
        PyMem_Free(self.measures)

    cdef int adopt(self, int i, bint real) except -1:
        """The position of an aggregator's argument among those kept."""
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
