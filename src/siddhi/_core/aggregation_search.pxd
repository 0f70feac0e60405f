# Reading an aggregation: the rows of one bucket length within a range of time, from the tables and from what is running.
#
# Answers are made for each question; they are records of their own, in the pool Fold.answers.

from libc.stdint cimport int64_t

from siddhi._core.aggregation cimport Aggregation
from siddhi._core.chunk cimport EventChunk
from siddhi._core.event cimport EventC
from siddhi._core.executor cimport Executor, FrameC
from siddhi._core.join_selector cimport JoinSelector
from siddhi._core.processor cimport Processor
from siddhi._core.searchable cimport Searchable

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
    cdef EventChunk lent               # what find() gave out last
    cdef int answer(self, EventC* event, FrameC* frame, EventChunk* out) except -1
    cdef int gather(self, int at, int64_t start, int64_t end, EventChunk* out) except -1

cdef class AggregationJoin(Processor):
    cdef AggregationSearch search
    cdef JoinSelector parts
    cdef int own
    cdef bint outer
    cdef bint joins_expired
