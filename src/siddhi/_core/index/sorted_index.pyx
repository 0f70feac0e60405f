"""Sorted numbers for range conditions."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.string cimport memcpy, memmove

from siddhi._core.record.event cimport FLOAT, INT, LONG

cdef uint64_t SIGN = <uint64_t> 1 << 63


cdef uint64_t sort_key_of_integer(int64_t value) noexcept:
    return <uint64_t> value ^ SIGN


cdef uint64_t sort_key(int code, const CellC* value) noexcept:
    """Return a word whose unsigned order is that of the numbers: of int and long together, and of float and double."""
    cdef CellC wide
    if code == INT:
        return sort_key_of_integer(value.i)
    if code == LONG:
        return sort_key_of_integer(value.l)
    wide.d = value.f if code == FLOAT else value.d
    if wide.d == 0:
        wide.d = 0                     # one zero
    return ~wide.bits if wide.bits & SIGN else wide.bits ^ SIGN


@cython.final
cdef class SortedKeys:
    """Sorted keys in blocks."""

    def __dealloc__(self):
        self.clear()

    cdef void clear(self) noexcept:
        cdef Py_ssize_t i
        for i in range(self.n_blocks):
            PyMem_Free(self.blocks[i])
        PyMem_Free(self.blocks)
        self.blocks = NULL
        self.n_blocks = 0
        self.capacity = 0
        self.size = 0

    cdef PositionC seek(self, uint64_t key, bint behind) noexcept:
        cdef PositionC found
        cdef Py_ssize_t low = 0, high = self.n_blocks, middle
        cdef BlockC* block
        cdef uint64_t other
        # The last block that begins before the key is the one that may contain it.
        while low < high:
            middle = (low + high) // 2
            other = self.blocks[middle].entries[0].key
            if other < key or (behind and other == key):
                low = middle + 1
            else:
                high = middle
        found.block = low - 1 if low > 0 else 0
        found.entry = 0
        if self.n_blocks == 0:
            return found
        block = self.blocks[found.block]
        low = 0
        high = block.n
        while low < high:
            middle = (low + high) // 2
            other = block.entries[middle].key
            if other < key or (behind and other == key):
                low = middle + 1
            else:
                high = middle
        found.entry = low
        return found

    cdef SortedEntryC* take(self, PositionC* position) noexcept:
        cdef SortedEntryC* entry
        while position.block < self.n_blocks:
            if position.entry < self.blocks[position.block].n:
                entry = &self.blocks[position.block].entries[position.entry]
                position.entry += 1
                return entry
            position.block += 1
            position.entry = 0
        return NULL

    cdef int insert_block(self, Py_ssize_t at) except -1:
        """Insert an empty block into the directory."""
        cdef BlockC** blocks
        cdef BlockC* block
        cdef Py_ssize_t capacity
        if self.n_blocks == self.capacity:
            capacity = max(8, 2 * self.capacity)
            blocks = <BlockC**> PyMem_Realloc(self.blocks, capacity * sizeof(BlockC*))
            if blocks is NULL:
                raise MemoryError
            self.blocks = blocks
            self.capacity = capacity
        block = <BlockC*> PyMem_Malloc(sizeof(BlockC))
        if block is NULL:
            raise MemoryError
        block.n = 0
        memmove(&self.blocks[at + 1], &self.blocks[at], (self.n_blocks - at) * sizeof(BlockC*))
        self.blocks[at] = block
        self.n_blocks += 1
        return 0

    cdef int add(self, uint64_t key, uint32_t key_id) except -1:
        cdef PositionC at
        cdef BlockC* block
        cdef BlockC* upper
        if self.n_blocks == 0:
            self.insert_block(0)
        at = self.seek(key, False)
        block = self.blocks[at.block]
        if block.n == BLOCK:
            # Numbers often arrive in ascending order: then the full block stays full and a new one follows.
            self.insert_block(at.block + 1)
            upper = self.blocks[at.block + 1]
            if at.entry == BLOCK and at.block + 2 == self.n_blocks:
                at.entry = 0
            else:
                upper.n = BLOCK // 2
                block.n = BLOCK - upper.n
                memcpy(&upper.entries[0], &block.entries[block.n], upper.n * sizeof(SortedEntryC))
                if at.entry <= block.n:
                    upper = block
                else:
                    at.entry -= block.n
            block = upper
        memmove(&block.entries[at.entry + 1], &block.entries[at.entry], (block.n - at.entry) * sizeof(SortedEntryC))
        block.entries[at.entry].key = key
        block.entries[at.entry].key_id = key_id
        block.n += 1
        self.size += 1
        return 0

    cdef int remove(self, uint64_t key) except -1:
        cdef PositionC at = self.seek(key, False)
        cdef PositionC next = at
        cdef SortedEntryC* entry = self.take(&next)
        cdef BlockC* block
        if entry is NULL or entry.key != key:
            raise KeyError(key)
        # seek() may return the end of a block: the entry is the one before the position after take().
        at.block = next.block
        at.entry = next.entry - 1
        block = self.blocks[at.block]
        block.n -= 1
        memmove(&block.entries[at.entry], &block.entries[at.entry + 1], (block.n - at.entry) * sizeof(SortedEntryC))
        self.size -= 1
        if block.n == 0:
            PyMem_Free(block)
            self.n_blocks -= 1
            memmove(&self.blocks[at.block], &self.blocks[at.block + 1], (self.n_blocks - at.block) * sizeof(BlockC*))
        return 0

    # --- for tests

    def put(self, uint64_t key, uint32_t key_id):
        """Add a key that is absent."""
        self.add(key, key_id)

    def discard(self, uint64_t key):
        """Remove a key that is present."""
        self.remove(key)

    def between(self, uint64_t low, uint64_t high, bint behind_low=False, bint with_high=True):
        """``[(key, key id), ...]`` from ``low`` to ``high``."""
        cdef PositionC at = self.seek(low, behind_low)
        cdef SortedEntryC* entry
        found = []
        while True:
            entry = self.take(&at)
            if entry is NULL or entry.key > high or (entry.key == high and not with_high):
                return found
            found.append((entry.key, entry.key_id))
