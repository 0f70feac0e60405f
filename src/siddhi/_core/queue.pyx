"""The ring of records behind sliding windows."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc

from siddhi._core.event cimport release
from siddhi._core.searchable cimport found_add


cdef int queue_grow(QueueC* queue) except -1:
    cdef Py_ssize_t i, capacity = 4 if queue.ring is NULL else 2 * (queue.mask + 1)
    cdef EventC** ring = <EventC**> PyMem_Malloc(capacity * sizeof(EventC*))
    if ring is NULL:
        raise MemoryError
    for i in range(queue.size):
        ring[i] = queue_at(queue, i)
    PyMem_Free(queue.ring)
    queue.ring = ring
    queue.mask = capacity - 1
    queue.head = 0
    return 0


cdef void queue_clear(QueueC* queue, EventPool pool) noexcept:
    """Release every event and the ring."""
    while queue.size:
        release(pool, queue_pop(queue))
    PyMem_Free(queue.ring)
    queue.ring = NULL
    queue.mask = 0
    queue.head = 0


cdef int queue_write(QueueC* queue, SnapshotWriter writer, EventPool pool) except -1:
    cdef Py_ssize_t i
    cdef EventC** events = <EventC**> PyMem_Malloc(max(1, queue.size) * sizeof(EventC*))
    if events is NULL:
        raise MemoryError
    try:
        for i in range(queue.size):
            events[i] = queue_at(queue, i)
        writer.put_events(events, queue.size, pool.layout)
    finally:
        PyMem_Free(events)
    return 0


cdef int queue_read(QueueC* queue, SnapshotReader reader, EventPool pool) except -1:
    """Replace the content by a written one."""
    cdef EventC** events = NULL
    cdef Py_ssize_t i, n
    queue_clear(queue, pool)
    n = reader.get_events(pool, &events)
    try:
        for i in range(n):
            queue_push(queue, events[i])
    finally:
        PyMem_Free(events)
    return 0


cdef int queue_show(QueueC* queue, FoundC* found) except -1:
    cdef Py_ssize_t i
    for i in range(queue.size):
        found_add(found, queue_at(queue, i))
    return 0
