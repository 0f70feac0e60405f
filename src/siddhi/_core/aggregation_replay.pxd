# Events that come again: rows that are stored already are made anew.

from libc.stdint cimport int64_t

from siddhi._core.aggregation cimport Aggregation, Rows
from siddhi._core.event cimport EventC

cdef int begin(Aggregation self, int64_t now) except -1
cdef int roll_anew(Aggregation self, int64_t now) except -1
cdef int replace(Aggregation self, int at, Rows rows, int64_t start, list levels) except -1
cdef int settle(Aggregation self, list levels) except -1
cdef int anew(Aggregation self, int at, Rows touched, Rows remade, Rows tail) except -1
cdef bint has_row(Aggregation self, Rows rows, const EventC* row, int64_t bucket) except -1
