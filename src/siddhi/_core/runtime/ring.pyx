"""The ring of records behind sliding windows."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.string cimport memcpy, memset

from siddhi._core.record.event cimport release
from siddhi._core.runtime.lookup cimport found_add

cdef int queue_grow(EventRingC* queue) except -1:
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


cdef void queue_clear(EventRingC* queue, EventPool pool) noexcept:
    """Release every event and the ring."""
    while queue.size:
        release(pool, queue_pop(queue))
    PyMem_Free(queue.ring)
    queue.ring = NULL
    queue.mask = 0
    queue.head = 0


cdef int queue_write(EventRingC* queue, SnapshotWriter writer, EventPool pool) except -1:
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


cdef int queue_read(EventRingC* queue, SnapshotReader reader, EventPool pool) except -1:
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


cdef int queue_show(EventRingC* queue, FoundC* found) except -1:
    cdef Py_ssize_t i
    for i in range(queue.size):
        found_add(found, queue_at(queue, i))
    return 0


# --- Rings of compact entries.

cdef class CompactRings:
    """One ring per partition slot.

    Args:
        stride: words of an entry.
    """

    def __cinit__(self, int stride):
        self.stride = stride

    def __dealloc__(self):
        cdef unsigned int i
        for i in range(self.capacity):
            PyMem_Free(self.rings[i].words)
        PyMem_Free(self.rings)

    cdef int ensure(self, unsigned int partition) except -1:
        cdef unsigned int capacity
        cdef RingC* rings
        if partition >= self.capacity:
            capacity = max(1, 2 * self.capacity, partition + 1)
            rings = <RingC*> PyMem_Realloc(self.rings, capacity * sizeof(RingC))
            if rings is NULL:
                raise MemoryError
            memset(rings + self.capacity, 0, (capacity - self.capacity) * sizeof(RingC))
            self.rings = rings
            self.capacity = capacity
        self.rings[partition].live = True
        return 0

    cdef int drop(self, unsigned int partition) except -1:
        if partition < self.capacity:
            PyMem_Free(self.rings[partition].words)
            memset(&self.rings[partition], 0, sizeof(RingC))
        return 0

    cdef int grow(self, RingC* ring) except -1:
        cdef Py_ssize_t capacity = 4 if ring.words is NULL else 2 * (ring.mask + 1)
        cdef Py_ssize_t entry = self.stride * sizeof(uint64_t)
        cdef Py_ssize_t behind = min(ring.size, ring.mask + 1 - ring.head)       # up to the end of the old memory
        cdef uint64_t* words = <uint64_t*> PyMem_Malloc(capacity * entry)
        if words is NULL:
            raise MemoryError
        if ring.size:
            memcpy(words, ring.words + ring.head * self.stride, behind * entry)
            memcpy(words + behind * self.stride, ring.words, (ring.size - behind) * entry)
        PyMem_Free(ring.words)
        ring.words = words
        ring.mask = capacity - 1
        ring.head = 0
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef unsigned int i, n = 0
        cdef Py_ssize_t j
        cdef RingC* ring
        for i in range(self.capacity):
            n += self.rings[i].live
        writer.put_u32(self.stride)
        writer.put_u32(n)
        for i in range(self.capacity):
            ring = &self.rings[i]
            if ring.live:
                writer.put_u32(i)
                writer.put_i64(ring.size)
                for j in range(ring.size):
                    writer.put_bytes(ring.words + ((ring.head + j) & ring.mask) * self.stride,
                                     self.stride * sizeof(uint64_t))
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        """In place of what is held."""
        cdef unsigned int i, n, partition
        cdef Py_ssize_t size, entry = self.stride * sizeof(uint64_t)
        cdef RingC* ring
        cdef set missing = {i for i in range(self.capacity) if self.rings[i].live}
        for i in range(self.capacity):
            self.drop(i)
        try:
            if <int> reader.get_u32() != self.stride:
                raise ValueError("snapshot is damaged: it keeps other arguments of its events")
            n = reader.get_u32()
            for _ in range(n):  # no-cython-lint
                partition = reader.get_u32()
                size = <Py_ssize_t> reader.get_i64()
                if size < 0 or size > (reader.size - reader.position) // entry:
                    raise ValueError(f"snapshot is damaged: {size} events announced")
                if partition not in missing:
                    raise ValueError(f"snapshot is damaged: a window of no partition key ({partition})")
                missing.discard(partition)
                self.ensure(partition)
                ring = &self.rings[partition]
                while ring.words is NULL or ring.mask + 1 < size:
                    self.grow(ring)
                memcpy(ring.words, reader.take(size * entry), size * entry)
                ring.size = size
        finally:
            for i in missing:
                self.ensure(i)
        return 0

    @property
    def held(self):
        """Entries of all partition slots."""
        cdef unsigned int i
        return sum([self.rings[i].size for i in range(self.capacity)])
