# Reading an aggregation: the rows of one bucket length within a range of time, from the tables and from what is running.
#
# Answers are made for each question; they are records of their own, in the pool Fold.answers.

from libc.stdint cimport int64_t, uint64_t

from siddhi._core.aggregation cimport Aggregation, Level, Rows
from siddhi._core.chunk cimport EventChunk
from siddhi._core.event cimport CellC, EventC
from siddhi._core.executor cimport ExecC, Executor, FrameC
from siddhi._core.join_selector cimport JoinSelector
from siddhi._core.processor cimport Processor
from siddhi._core.searchable cimport Searchable

cdef struct GateC:                 # what a group must equal for the condition to hold
    int cell                       # of the group in the row
    int word
    uint64_t bit
    int code
    const ExecC* x
    CellC value                    # while rows are looked through

cdef class AggregationSearch(Searchable):
    cdef readonly Aggregation aggregation
    cdef Executor condition            # over the answer; None: all of them
    cdef object range                  # (start, end), where that is known beforehand
    cdef Executor first                # else what they are made of
    cdef Executor second
    cdef object range_of
    cdef int level                     # index of the level; -1: `per` tells
    cdef Executor per
    cdef object level_of
    cdef tuple gate_executors
    cdef GateC* gates
    cdef int n_gates
    cdef int answer(self, EventC* event, FrameC* frame, EventChunk* out) except -1
    cdef bint open_gates(self, EventC* event, FrameC* frame) except -1
    cdef bint passes(self, const EventC* row) noexcept
    cdef int merge_stored(self, Rows rows, Level asked, records, int64_t start, int64_t end) except -1
    cdef int gather_of_nodes(self, Rows rows, int at, int64_t start, int64_t end) except -1
    cdef int gather(self, int at, int64_t start, int64_t end, FrameC* frame, EventChunk* out) except -1

cdef class AggregationJoin(Processor):
    cdef AggregationSearch search
    cdef JoinSelector parts
    cdef int own
    cdef bint outer
    cdef bint joins_expired
