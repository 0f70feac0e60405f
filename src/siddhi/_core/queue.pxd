# A ring of event records, first in first out: what sliding windows hold. The queue owns a reference to each.

from libc.stdint cimport int64_t

from siddhi._core.event cimport EventC, EventPool
from siddhi._core.searchable cimport FoundC
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter

cdef struct QueueC:
    EventC** ring                  # [mask + 1], NULL before the first event
    Py_ssize_t mask                # capacity - 1, capacity a power of two
    Py_ssize_t head
    Py_ssize_t size

cdef int queue_grow(QueueC* queue) except -1
cdef void queue_clear(QueueC* queue, EventPool pool) noexcept
cdef int queue_write(QueueC* queue, SnapshotWriter writer, EventPool pool) except -1
cdef int queue_read(QueueC* queue, SnapshotReader reader, EventPool pool) except -1
cdef int queue_show(QueueC* queue, FoundC* found) except -1        # adds its events, the oldest first

cdef inline int queue_push(QueueC* queue, EventC* event) except -1:
    """Append an event whose reference the caller hands over."""
    if queue.ring is NULL or queue.size > queue.mask:
        queue_grow(queue)
    queue.ring[(queue.head + queue.size) & queue.mask] = event
    queue.size += 1
    return 0

cdef inline EventC* queue_first(QueueC* queue) noexcept:
    return queue.ring[queue.head]

cdef inline EventC* queue_at(QueueC* queue, Py_ssize_t i) noexcept:
    return queue.ring[(queue.head + i) & queue.mask]

cdef inline EventC* queue_pop(QueueC* queue) noexcept:
    """Take the oldest event out; its reference is the caller's."""
    cdef EventC* event = queue.ring[queue.head]
    queue.head = (queue.head + 1) & queue.mask
    queue.size -= 1
    return event
