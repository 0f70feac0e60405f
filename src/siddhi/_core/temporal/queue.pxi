# Queues of lifetimes.

cdef struct QueueC:                # lifetimes, first in first out; references are owned
    LifetimeC** items
    Py_ssize_t first
    Py_ssize_t n
    Py_ssize_t capacity


cdef int queue_push(QueueC* queue, LifetimeC* lifetime) except -1:
    cdef LifetimeC** larger
    cdef Py_ssize_t capacity
    if queue.first + queue.n == queue.capacity:
        if queue.first > queue.n:
            memmove(queue.items, queue.items + queue.first, queue.n * sizeof(LifetimeC*))
            queue.first = 0
        else:
            capacity = max(16, 2 * queue.capacity)
            larger = <LifetimeC**> PyMem_Realloc(queue.items, capacity * sizeof(LifetimeC*))
            if larger is NULL:
                raise MemoryError
            queue.items = larger
            queue.capacity = capacity
    queue.items[queue.first + queue.n] = retain_lifetime(lifetime)
    queue.n += 1
    return 0


cdef LifetimeC* queue_pop(QueueC* queue) noexcept:
    cdef LifetimeC* lifetime = queue.items[queue.first]
    queue.first += 1
    queue.n -= 1
    if queue.n == 0:
        queue.first = 0
    return lifetime


cdef void queue_clear(QueueC* queue, LifetimePool lifetimes) noexcept:
    """Release the lifetimes and the memory."""
    while queue.n:
        release_lifetime(lifetimes, queue_pop(queue))
    PyMem_Free(queue.items)
    queue.items = NULL
    queue.capacity = 0


cdef int queue_write(QueueC* queue, SnapshotWriter writer, LifetimePool lifetimes) except -1:
    cdef Py_ssize_t i
    writer.put_u32(<uint32_t> queue.n)
    for i in range(queue.n):
        put_lifetime(writer, lifetimes, queue.items[queue.first + i])
    return 0


cdef int queue_read(QueueC* queue, SnapshotReader reader, LifetimePool lifetimes, EventPool rows) except -1:
    cdef Py_ssize_t i, n = get_size(reader)
    cdef LifetimeC* lifetime
    for i in range(n):
        lifetime = get_lifetime(reader, lifetimes, rows)
        if lifetime is NULL:
            refuse_damage("a window waits for no lifetime")
        queue_push(queue, lifetime)
    return 0
