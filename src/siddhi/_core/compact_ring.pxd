# Rings of compact entries: what a sliding aggregation keeps of each event it holds, by partition slot.
#
# An entry is `stride` words: the slot of its group with the null bits of its arguments, the arguments (eight bytes each),
# and, where the window goes by time, the event's time. First in, first out; the memory of a ring only grows.

from libc.stdint cimport uint32_t, uint64_t

from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter

cdef struct RingC:
    uint64_t* words                # [(mask + 1) * stride]; NULL: nothing was held yet
    Py_ssize_t mask                # capacity - 1, capacity a power of two
    Py_ssize_t head
    Py_ssize_t size
    bint live                      # the partition slot is in use

cdef class CompactRings:
    cdef readonly int stride
    cdef RingC* rings              # [capacity] by partition slot
    cdef unsigned int capacity
    cdef int ensure(self, unsigned int partition) except -1
    cdef int drop(self, unsigned int partition) except -1
    cdef int grow(self, RingC* ring) except -1
    cdef int write(self, SnapshotWriter writer) except -1
    cdef int read(self, SnapshotReader reader) except -1

cdef inline uint64_t* ring_push(CompactRings rings, RingC* ring) except NULL:
    """The place of a new entry, which the caller writes."""
    if ring.words is NULL or ring.size > ring.mask:
        rings.grow(ring)
    ring.size += 1
    return ring.words + ((ring.head + ring.size - 1) & ring.mask) * rings.stride

cdef inline uint64_t* ring_first(CompactRings rings, RingC* ring) noexcept:
    return ring.words + ring.head * rings.stride

cdef inline uint64_t entry_head(uint32_t slot, uint32_t nulls) noexcept:
    return slot | (<uint64_t> nulls) << 32
