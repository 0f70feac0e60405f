"""Equality index of a pattern's state."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport uint32_t

from siddhi._core.event cimport BOOL, INT
from siddhi._core.executor cimport NULL_VALUE, TRUE, Executor
from siddhi._core.keymap cimport NO_SLOT

cdef enum:
    MAX_KEYS = 63


@cython.final
cdef class PatternIndex:
    """Finds the partial matches of a state by key.

    Args:
        own: executors over the event at hand.
        earlier: executors over the events of the partial match, of the same types in the same order.
        partitioned: whether partial matches of several partition keys come together here.
    """

    def __cinit__(self, tuple own not None, tuple earlier not None, bint partitioned=False):
        cdef int i
        cdef Executor executor
        self.own = own[:MAX_KEYS]
        self.earlier = earlier[:MAX_KEYS]
        self.width = len(self.own)
        self.partitioned = partitioned
        types = [(<Executor> each).type for each in self.own]
        self.keys = KeyMap([*types, INT] if partitioned else types)
        self.own_fns = <const ExecC**> PyMem_Malloc(self.width * sizeof(void*))
        self.earlier_fns = <const ExecC**> PyMem_Malloc(self.width * sizeof(void*))
        self.types = <uint8_t*> PyMem_Malloc(self.width)
        if self.own_fns is NULL or self.earlier_fns is NULL or self.types is NULL:
            raise MemoryError
        for i in range(self.width):
            executor = self.own[i]
            self.own_fns[i] = &executor.c
            self.types[i] = <uint8_t> executor.type
            executor = self.earlier[i]
            self.earlier_fns[i] = &executor.c

    def __dealloc__(self):
        PyMem_Free(self.own_fns)
        PyMem_Free(self.earlier_fns)
        PyMem_Free(self.types)
        PyMem_Free(self.buckets)

    cdef bint read(self, const ExecC** fns, EventC* event, FrameC* frame, CellC* key) except -1:
        """Compute a key. A null equals nothing, so that a key with one is no key."""
        cdef int i, status
        for i in range(self.width):
            key[i].bits = 0
            status = fns[i].fn(fns[i], event, frame, &key[i])
            if status == NULL_VALUE:
                return False
            if self.types[i] == BOOL:
                key[i].i = status == TRUE
        if self.partitioned:
            key[self.width].bits = 0
            key[self.width].i = <int> frame.partition
        return True

    cdef int place(self, EntryC* entry, FrameC* frame) except -1:
        cdef CellC key[64]
        cdef bint is_new = False
        cdef uint32_t slot
        cdef BucketC* bucket
        if not self.read(self.earlier_fns, NULL, frame, key):
            return 0
        slot = self.keys.insert(key, 0, &is_new)
        if slot >= <uint32_t> self.capacity:
            self.grow(slot)
        bucket = &self.buckets[slot]
        if is_new:
            bucket.head = NULL
            bucket.tail = NULL
        entry.bucket = slot
        entry.bucket_next = NULL
        entry.bucket_prev = bucket.tail
        if bucket.tail is NULL:
            bucket.head = entry
        else:
            bucket.tail.bucket_next = entry
        bucket.tail = entry
        return 0

    cdef int grow(self, uint32_t slot) except -1:
        cdef Py_ssize_t capacity = max(16, 2 * self.capacity, <Py_ssize_t> slot + 1)
        cdef BucketC* buckets = <BucketC*> PyMem_Realloc(self.buckets, capacity * sizeof(BucketC))
        if buckets is NULL:
            raise MemoryError
        self.buckets = buckets
        self.capacity = capacity
        return 0

    cdef void remove(self, EntryC* entry) noexcept:
        cdef BucketC* bucket = &self.buckets[entry.bucket]
        if entry.bucket_prev is NULL:
            bucket.head = entry.bucket_next
        else:
            entry.bucket_prev.bucket_next = entry.bucket_next
        if entry.bucket_next is NULL:
            bucket.tail = entry.bucket_prev
        else:
            entry.bucket_next.bucket_prev = entry.bucket_prev
        if bucket.head is NULL:
            self.forget(entry.bucket)
        entry.bucket = NO_SLOT

    cdef void forget(self, uint32_t slot) noexcept:
        # Keys are numbers, strings and bools: giving one up runs no code that could fail.
        self.keys.remove(slot)

    cdef EntryC* find(self, EventC* event, FrameC* frame) except? NULL:
        cdef CellC key[64]
        cdef uint32_t slot
        if self.keys.size == 0 or not self.read(self.own_fns, event, frame, key):
            return NULL
        slot = self.keys.find(key, 0)
        return NULL if slot == NO_SLOT else self.buckets[slot].head
