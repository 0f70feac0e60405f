# Access paths: how a condition finds rows without a scan: by primary key, by the value of an index, by a range. An
# access finds exactly the rows that satisfy its part of the condition.

from libc.stdint cimport uint32_t, uint64_t

from siddhi._core.expression.bounds cimport SortedRange
from siddhi._core.expression.executor cimport ExecC, Executor
from siddhi._core.record.event cimport CellC, EventC
from siddhi._core.record.frame cimport FrameC
from siddhi._core.table.index cimport ChainC, ValueIndex
from siddhi._core.table.table cimport Table

cdef struct NumbersC:                  # row numbers
    uint32_t* at
    Py_ssize_t n
    Py_ssize_t capacity

cdef enum Probe:                       # conversion of the compared value to the attribute's type
    AS_IS
    LONG_AS_INT
    DOUBLE_AS_INT
    DOUBLE_AS_FLOAT

cdef struct ProbeC:
    const ExecC* x
    int how
    int code                           # of the attribute

cdef int numbers_grow(NumbersC* numbers) except -1

cdef inline int numbers_add(NumbersC* numbers, uint32_t number) except -1:
    if numbers.n == numbers.capacity:
        numbers_grow(numbers)
    numbers.at[numbers.n] = number
    numbers.n += 1
    return 0

cdef class Access:
    cdef readonly Table table
    cdef readonly bint ordered         # finds rows in order of insertion, each once
    cdef readonly bint by_key          # by primary key, at least in part
    cdef readonly bint limited         # collect() stops after more than `limit` rows
    cdef int collect(self, NumbersC* out, EventC* e, FrameC* f, Py_ssize_t limit) except -1
    cdef Py_ssize_t estimate(self, EventC* e, FrameC* f) except -1     # approximate number of rows

cdef class KeyAccess(Access):
    cdef tuple executors
    cdef ProbeC* probes
    cdef int n
    cdef bint can_hash                 # the key is one number or string, read from an attribute
    cdef uint32_t get(self, EventC* e, FrameC* f) except? 0xfffffffe  # row number, or NO_ROW
    cdef bint hash_of(self, EventC* e, FrameC* f, uint64_t* hash) except -1  # requires can_hash; False: no row can match

cdef class ValueAccess(Access):
    cdef Executor executor
    cdef ProbeC probe
    cdef ValueIndex index
    cdef ChainC* chain(self, EventC* e, FrameC* f) except? NULL

cdef class RangeAccess(Access):
    cdef ValueIndex index
    cdef SortedRange range

cdef class UnionAccess(Access):
    cdef tuple parts

cdef class SmallestAccess(Access):     # the cheapest of several accesses, each of them sufficient
    cdef tuple parts
