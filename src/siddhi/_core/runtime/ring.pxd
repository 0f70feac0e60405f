# A ring of event records, first in first out: what sliding windows hold. The queue owns a reference to each.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.runtime.lookup cimport FoundC
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef struct EventRingC:
    EventC** ring                  # [mask + 1], NULL before the first event
    Py_ssize_t mask                # capacity - 1, capacity a power of two
    Py_ssize_t head
    Py_ssize_t size

cdef int queue_grow(EventRingC* queue) except -1
cdef void queue_clear(EventRingC* queue, EventPool pool) noexcept
cdef int queue_write(EventRingC* queue, SnapshotWriter writer, EventPool pool) except -1
cdef int queue_read(EventRingC* queue, SnapshotReader reader, EventPool pool) except -1
cdef int queue_show(EventRingC* queue, FoundC* found) except -1        # adds its events, the oldest first

cdef inline int queue_push(EventRingC* queue, EventC* event) except -1:
    """Append an event whose reference the caller hands over."""
    if queue.ring is NULL or queue.size > queue.mask:
        queue_grow(queue)
    queue.ring[(queue.head + queue.size) & queue.mask] = event
    queue.size += 1
    return 0

cdef inline EventC* queue_first(EventRingC* queue) noexcept:
    return queue.ring[queue.head]

cdef inline EventC* queue_at(EventRingC* queue, Py_ssize_t i) noexcept:
    return queue.ring[(queue.head + i) & queue.mask]

cdef inline EventC* queue_pop(EventRingC* queue) noexcept:
    """Take the oldest event out; its reference is the caller's."""
    cdef EventC* event = queue.ring[queue.head]
    queue.head = (queue.head + 1) & queue.mask
    queue.size -= 1
    return event

# --- Rings of compact entries: what a sliding aggregation keeps of each event it holds, by partition slot.
#
# An entry is `stride` words: the slot of its group with the null bits of its arguments, the arguments (eight bytes each),
# and, where the window goes by time, the event's time. First in, first out; the memory of a ring only grows.
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
