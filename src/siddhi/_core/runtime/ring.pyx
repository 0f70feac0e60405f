"""Ring buffers behind sliding windows and fused aggregations."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.string cimport memcpy, memset

from siddhi._core.record.event cimport release
from siddhi._core.runtime.lookup cimport found_add


cdef void* double_ring(void* items, Py_ssize_t* mask, Py_ssize_t* head, size_t width) except NULL:
    """Copy all slots of a ring into one of twice the size, the head first; free the old one and return the new one.

    `width` is the size of a slot in bytes. A ring without memory gets 4 slots.
    """
    cdef size_t size = 0 if items is NULL else <size_t> (mask[0] + 1)
    cdef size_t first = <size_t> head[0], capacity = 2 * size if size else 4
    cdef char* grown = <char*> PyMem_Malloc(capacity * width)
    if grown is NULL:
        raise MemoryError
    if size:
        memcpy(grown, <char*> items + first * width, (size - first) * width)
        memcpy(grown + (size - first) * width, items, first * width)
    PyMem_Free(items)
    mask[0] = capacity - 1
    head[0] = 0
    return grown


cdef int ring_grow(EventRingC* ring) except -1:
    ring.events = <EventC**> double_ring(ring.events, &ring.mask, &ring.head, sizeof(EventC*))
    return 0


cdef void ring_clear(EventRingC* ring, EventPool pool) noexcept:
    """Release every event and the memory."""
    while ring.size:
        release(pool, ring_pop(ring))
    PyMem_Free(ring.events)
    ring.events = NULL
    ring.mask = 0
    ring.head = 0


cdef int ring_write(EventRingC* ring, SnapshotWriter writer, EventPool pool) except -1:
    cdef Py_ssize_t i
    cdef EventC** events = <EventC**> PyMem_Malloc(max(1, ring.size) * sizeof(EventC*))
    if events is NULL:
        raise MemoryError
    try:
        for i in range(ring.size):
            events[i] = ring_at(ring, i)
        writer.put_events(events, ring.size, pool.layout)
    finally:
        PyMem_Free(events)
    return 0


cdef int ring_read(EventRingC* ring, SnapshotReader reader, EventPool pool) except -1:
    """Replace the content by a written one."""
    cdef EventC** events = NULL
    cdef Py_ssize_t i, n
    ring_clear(ring, pool)
    n = reader.get_events(pool, &events)
    try:
        for i in range(n):
            ring_push(ring, events[i])
    finally:
        PyMem_Free(events)
    return 0


cdef int ring_show(EventRingC* ring, FoundC* found) except -1:
    cdef Py_ssize_t i
    for i in range(ring.size):
        found_add(found, ring_at(ring, i))
    return 0


# --- Rings of compact entries.

cdef class CompactRings:
    """One ring per partition id.

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
        cdef CompactRingC* rings
        if partition >= self.capacity:
            capacity = max(1, 2 * self.capacity, partition + 1)
            rings = <CompactRingC*> PyMem_Realloc(self.rings, capacity * sizeof(CompactRingC))
            if rings is NULL:
                raise MemoryError
            memset(rings + self.capacity, 0, (capacity - self.capacity) * sizeof(CompactRingC))
            self.rings = rings
            self.capacity = capacity
        self.rings[partition].live = True
        return 0

    cdef int drop(self, unsigned int partition) except -1:
        if partition < self.capacity:
            PyMem_Free(self.rings[partition].words)
            memset(&self.rings[partition], 0, sizeof(CompactRingC))
        return 0

    cdef int grow(self, CompactRingC* ring) except -1:
        ring.words = <uint64_t*> double_ring(ring.words, &ring.mask, &ring.head, self.stride * sizeof(uint64_t))
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef unsigned int i, n = 0
        cdef Py_ssize_t j
        cdef CompactRingC* ring
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
        """Replace all entries by those of the snapshot."""
        cdef unsigned int i, n, partition
        cdef Py_ssize_t size, entry = self.stride * sizeof(uint64_t)
        cdef CompactRingC* ring
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
    def size(self):
        """Entries of all partition ids."""
        cdef unsigned int i
        return sum([self.rings[i].size for i in range(self.capacity)])
