# Index of a table: the rows of each value of one attribute, and the sorted values if a condition uses ranges. Nulls and
# NaN match no comparison, so rows with them are not indexed.

from libc.stdint cimport uint32_t, uint64_t

from siddhi._core.index.hash_index cimport KeyMap
from siddhi._core.index.sorted_index cimport SortedKeys
from siddhi._core.record.event cimport CellC, EventC

cdef enum:
    NO_ROW = 0xffffffff

cdef struct CellAtC:                   # location of an attribute in a record
    int cell
    int word
    uint64_t bit
    int code
    bint narrow                        # a 4-byte value: the other half of the cell is undefined

cdef struct ChainC:                    # rows with one value
    uint32_t first
    uint32_t last
    uint32_t n

cdef struct LinkC:
    uint32_t previous
    uint32_t next

cdef class ValueIndex:
    cdef readonly int position
    cdef CellAtC at
    cdef KeyMap values
    cdef ChainC* chains                # by key id of the value
    cdef Py_ssize_t n_chains
    cdef LinkC* links                  # by row number
    cdef Py_ssize_t n_links
    cdef SortedKeys order                                              # None: not sorted
    cdef ChainC* rows_of(self, const CellC* value) except? NULL        # NULL: no rows
    cdef int add(self, uint32_t number, const EventC* row) except -1
    cdef int remove(self, uint32_t number, const EventC* row) except -1
    cdef int clear(self) except -1
    cdef int sort(self) except -1      # keep the values sorted from now on

cdef int locate(object layout, int position, CellAtC* at) except -1
cdef bint is_indexed(const CellAtC* at, const EventC* row, CellC* value) noexcept

cdef inline bint read_cell_at(const CellAtC* at, const EventC* row, CellC* value) noexcept:
    """Read a value, zero-extended to 8 bytes; return False if it is null."""
    value.bits = 0
    if row.body[at.word] & at.bit:
        return False
    if at.narrow:
        value.i = (<const CellC*> &row.body[at.cell]).i
    else:
        value.bits = row.body[at.cell]
    return True
