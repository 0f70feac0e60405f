# Rows in the order of a selection: the ordered multiset behind top-k.
#
# Two levels: a directory of blocks of up to BLOCK rows. A search is two binary searches, mostly by a word per row that
# keeps the order of its first attribute; adding and removing move the rows of one block. Rows of equal order are
# distinguished by the index of their lifetime, so that a row is found again however many are equal to it.

from libc.stdint cimport uint32_t, uint64_t

from siddhi._core.record.event cimport EventC, Layout
from siddhi._core.temporal.lifetime cimport LifetimeC

cdef enum:
    BLOCK = 128

cdef struct OrderedRowC:
    uint64_t key                   # RowOrder.key() of `out`
    EventC* out                    # the output row, which is ordered; owned by the caller
    LifetimeC* lifetime            # owned by the caller

cdef struct OrderedBlockC:
    uint64_t key                   # of the first row: a search reads the directory alone
    OrderedRowC* rows
    uint32_t n                     # > 0
    uint32_t capacity

cdef struct OrderedRowsC:          # zeros: empty
    OrderedBlockC* blocks
    uint32_t n_blocks
    uint32_t capacity

cdef class RowOrder:
    cdef Layout layout
    cdef tuple order               # of (position, whether descending)
    cdef bint exact                # rows with equal keys are equal
    cdef int first                 # position of the first attribute
    cdef bint descending           # the first attribute
    # Return a word in the order of the rows; rows with equal words are compared().
    cdef uint64_t key(self, EventC* row) noexcept
    cdef int compare(self, EventC* a, EventC* b) except? -2              # < 0: a is before b
    cdef bint equal(self, const OrderedRowC* a, const OrderedRowC* b) except -1

# Only memory may run out, or a comparison of texts fail; then nothing has changed.
cdef int ordered_add(OrderedRowsC* rows, RowOrder order, OrderedRowC row) except -1
cdef bint ordered_remove(OrderedRowsC* rows, RowOrder order, OrderedRowC row) except -1      # False: it is absent
cdef void ordered_clear(OrderedRowsC* rows) noexcept                                         # releases no row
