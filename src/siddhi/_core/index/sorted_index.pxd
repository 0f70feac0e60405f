# Distinct numbers in ascending order, each with the key id of its rows: the index for range conditions.
#
# Two levels: a directory of blocks of up to BLOCK entries. A lookup is two binary searches. Adding or removing moves
# the entries of at most one block, and the directory only when a block is split or emptied.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.record.event cimport CellC

cdef enum:
    BLOCK = 256

cdef struct SortedEntryC:
    uint64_t key
    uint32_t key_id

cdef struct BlockC:
    Py_ssize_t n
    SortedEntryC entries[256]

cdef struct PositionC:                    # a position between two entries
    Py_ssize_t block
    Py_ssize_t entry

cdef class SortedKeys:
    cdef BlockC** blocks
    cdef Py_ssize_t n_blocks
    cdef Py_ssize_t capacity
    cdef readonly Py_ssize_t size
    cdef PositionC seek(self, uint64_t key, bint behind) noexcept    # before the first entry >= key (behind: > key)
    cdef SortedEntryC* take(self, PositionC* position) noexcept  # returns the entry there and advances; NULL at the end
    cdef int add(self, uint64_t key, uint32_t key_id) except -1      # the key must be absent
    cdef int remove(self, uint64_t key) except -1                    # the key must be present
    cdef void clear(self) noexcept
    cdef int insert_block(self, Py_ssize_t at) except -1

cdef uint64_t sort_key(int code, const CellC* value) noexcept      # preserves the order of the numbers; not for NaN
cdef uint64_t sort_key_of_integer(int64_t value) noexcept
