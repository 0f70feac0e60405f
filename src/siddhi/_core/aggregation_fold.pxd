# What the rows of an aggregation hold, and how they take events and each other in. A row is a record of one layout for
# all levels: the two times, the group, the latest values, the base values (sums, counts, ...). Null in a base value
# means that no value has come by yet.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from siddhi._core.event cimport EventC, EventPool, Layout
from siddhi._core.executor cimport ExecC, FrameC

cpdef enum FoldKind:
    COUNT = 0
    SUM = 1
    MINIMUM = 2
    MAXIMUM = 3
    DISTINCT = 4               # a set of values, null among them
    DEVIATION = 5              # three cells: number of values, their mean, the sum of their squared distances from it
    LATEST = 6

cpdef enum FinishKind:
    AS_STORED = 0
    MEAN = 1                   # of a sum and a count
    SIZE = 2                   # of a set
    SPREAD = 3                 # the standard deviation of a DEVIATION
    COMPUTED = 4               # an expression over the row

cdef struct FoldC:
    uint8_t kind               # FoldKind
    uint8_t code               # TypeCode of what comes in
    bint computed              # not a plain attribute
    int32_t cell               # in the row
    int32_t word
    uint64_t bit
    int32_t source_cell        # in the event
    int32_t source_word
    uint64_t source_bit
    const ExecC* x

cdef struct FinishC:
    uint8_t kind               # FinishKind
    bint is_object
    int32_t cell               # in the answer
    int32_t word
    uint64_t bit
    int32_t first_cell         # in the row
    int32_t first_word
    uint64_t first_bit
    int32_t second_cell        # MEAN: the count
    uint8_t code               # of the first; COMPUTED: of the answer
    const ExecC* x             # COMPUTED

cdef class Fold:
    cdef readonly EventPool pool       # of the rows
    cdef readonly EventPool answers    # of what readers get
    cdef tuple executors
    cdef FoldC* folds
    cdef int n_folds
    cdef FinishC* finishes
    cdef int n_finishes
    cdef bint computes                 # something is made of an expression
    cdef int last_cell                 # body index of the time of the latest event; 0: the order of arrival decides
    cdef EventC* computed(self, EventC* event, FrameC* frame) except NULL
    cdef int begin(self, EventC* row) except -1
    cdef int add(self, EventC* row, const EventC* event, const EventC* computed, int64_t time) except -1
    cdef EventC* clone(self, const EventC* row) except NULL
    cdef int merge(self, EventC* row, const EventC* newer) except -1
    cdef EventC* finish(self, EventC* row, int64_t bucket, FrameC* frame) except NULL
