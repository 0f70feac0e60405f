# A hash map from typed keys (one or more cells) to dense slots: group keys, partition keys, distinct values, indexes.
#
# Slots are small integers, given out densely from 0 and reused after remove(). A key is `width` cells with a null bit
# each; null is a value of its own. Doubles and floats compare by value, -0.0 equals 0.0 and NaN equals NaN; strings by
# content; other objects by Python's == and hash (which may raise).

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from siddhi._core.event cimport CellC, EventC
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter

cdef enum:
    NO_SLOT = 0xffffffff
    MAX_WIDTH = 64                   # null bits in one word

cdef class KeyMap:
    cdef readonly int width
    cdef readonly tuple types        # TypeCode of each cell of a key
    cdef uint8_t* codes              # [width] the same
    cdef int shape                   # what find is specialised for
    cdef bint has_text               # a key holds strings or objects, which the map owns
    cdef bint has_objects
    cdef CellC* keys                 # [capacity][width], by slot, in their canonical bits; null cells are 0
    cdef uint64_t* nulls             # [capacity] bit i: cell i of the key is null
    cdef uint64_t* hashes            # [capacity] of the key; where the slot is free: the next free slot
    cdef uint8_t* live               # [capacity] whether the slot has a key
    cdef uint64_t* table             # [mask + 1] open addressing: upper half of the hash, slot; FREE where nothing is
    cdef uint64_t mask
    cdef readonly Py_ssize_t size    # keys held
    cdef Py_ssize_t capacity         # slots allocated
    cdef uint32_t used               # slots ever given out since the last clear
    cdef uint32_t free_slot          # first of the slots to reuse, NO_SLOT: none
    cdef uint32_t find(self, const CellC* key, uint64_t nulls) except? 0xfffffffe        # NO_SLOT when absent
    cdef uint32_t insert(self, const CellC* key, uint64_t nulls, bint* is_new) except? 0xfffffffe   # find or add
    cdef int remove(self, uint32_t slot) except -1
    cdef void fetch(self, const CellC* key, uint64_t nulls) noexcept     # ask for the memory find and insert begin with
    cdef void fetch_slot(self, uint32_t slot) noexcept   # ask for the memory remove begins with
    cdef int clear(self) except -1
    # Keys of one number or text, to be looked up later: where it begins to look, and the slot it will find, most likely.
    cdef bint is_simple(self) noexcept
    cdef uint64_t hash_of_one(self, const CellC* key) noexcept
    cdef uint32_t guess(self, uint64_t hash) noexcept                                   # NO_SLOT: none
    cdef bint is_live(self, uint32_t slot) noexcept
    cdef uint32_t slots(self) noexcept                   # all slots are below this
    cdef object key_to_python(self, uint32_t slot)       # tuple
    cdef int write(self, SnapshotWriter writer) except -1    # keeps slot numbers
    cdef int read(self, SnapshotReader reader) except -1
    cdef int allocate(self, Py_ssize_t capacity) except -1
    cdef int rehash(self, uint64_t mask) except -1
    cdef int place(self, uint32_t slot, const CellC* key, uint64_t nulls) except -1
    cdef void forget(self) noexcept
