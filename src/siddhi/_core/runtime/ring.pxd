# A ring buffer of event records, first in first out: the content of sliding windows. It owns a reference to each record.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.runtime.lookup cimport FoundC
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef struct EventRingC:
    EventC** events                # [mask + 1], NULL before the first event
    Py_ssize_t mask                # capacity - 1, capacity a power of two
    Py_ssize_t head
    Py_ssize_t size

cdef void* double_ring(void* items, Py_ssize_t* mask, Py_ssize_t* head, size_t width) except NULL
cdef int ring_grow(EventRingC* ring) except -1
cdef void ring_clear(EventRingC* ring, EventPool pool) noexcept
cdef int ring_write(EventRingC* ring, SnapshotWriter writer, EventPool pool) except -1
cdef int ring_read(EventRingC* ring, SnapshotReader reader, EventPool pool) except -1
cdef int ring_show(EventRingC* ring, FoundC* found) except -1        # adds its events, oldest first

cdef inline int ring_push(EventRingC* ring, EventC* event) except -1:
    """Append an event; the ring takes over the caller's reference."""
    if ring.events is NULL or ring.size > ring.mask:
        ring_grow(ring)
    ring.events[(ring.head + ring.size) & ring.mask] = event
    ring.size += 1
    return 0

cdef inline EventC* ring_first(EventRingC* ring) noexcept:
    return ring.events[ring.head]

cdef inline EventC* ring_at(EventRingC* ring, Py_ssize_t i) noexcept:
    return ring.events[(ring.head + i) & ring.mask]

cdef inline EventC* ring_pop(EventRingC* ring) noexcept:
    """Remove the oldest event; the caller owns it."""
    cdef EventC* event = ring.events[ring.head]
    ring.head = (ring.head + 1) & ring.mask
    ring.size -= 1
    return event

# --- Rings of compact entries: what a sliding aggregation keeps of each event it holds, by partition id.
#
# An entry is `stride` words: the group id with the null bits of its arguments, the arguments (eight bytes each),
# and, where the window goes by time, the event's time. First in, first out; the memory of a ring only grows.
cdef struct CompactRingC:
    uint64_t* words                # [(mask + 1) * stride]; NULL: no entry was added yet
    Py_ssize_t mask                # capacity - 1, capacity a power of two
    Py_ssize_t head
    Py_ssize_t size
    bint live                      # the partition id is in use

cdef class CompactRings:
    cdef readonly int stride
    cdef CompactRingC* rings              # [capacity] by partition id
    cdef unsigned int capacity
    cdef int ensure(self, unsigned int partition) except -1
    cdef int drop(self, unsigned int partition) except -1
    cdef int grow(self, CompactRingC* ring) except -1
    cdef int write(self, SnapshotWriter writer) except -1
    cdef int read(self, SnapshotReader reader) except -1

cdef inline uint64_t* compact_ring_push(CompactRings rings, CompactRingC* ring) except NULL:
    """Append an entry, which the caller writes."""
    if ring.words is NULL or ring.size > ring.mask:
        rings.grow(ring)
    ring.size += 1
    return ring.words + ((ring.head + ring.size - 1) & ring.mask) * rings.stride

cdef inline uint64_t* compact_ring_first(CompactRings rings, CompactRingC* ring) noexcept:
    return ring.words + ring.head * rings.stride

cdef inline uint64_t entry_head(uint32_t group_id, uint32_t nulls) noexcept:
    return group_id | (<uint64_t> nulls) << 32
