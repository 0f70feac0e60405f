"""Equality index of a pattern's state."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc

from siddhi._core.event cimport BOOL, STRING, CellC
from siddhi._core.executor cimport NULL_VALUE, TRUE, VARIABLE, Executor
from siddhi._core.keymap_hash cimport canonical, mix, text_hash

cdef enum:
    FIRST_BUCKETS = 16
    FAR = 12                       # events ahead: whose bucket is asked for,
    NEAR = 8                       # whose partial match,
    NEXT = 4                       # and the events that it holds


@cython.final
@cython.no_gc_clear
cdef class PatternIndex:
    """Finds the partial matches of a state by key.

    Args:
        own: executors over the event at hand; numbers, bools and strings.
        earlier: executors over the events of the partial match, of the same types in the same order.
        partitioned: whether partial matches of several partition keys come together here.
    """

    def __cinit__(self, tuple own not None, tuple earlier not None, bint partitioned=False):
        cdef int i
        cdef Executor executor
        self.own = own
        self.earlier = earlier
        self.width = len(own)
        self.partitioned = partitioned
        self.own_fns = <const ExecC**> PyMem_Malloc(self.width * sizeof(void*))
        self.earlier_fns = <const ExecC**> PyMem_Malloc(self.width * sizeof(void*))
        self.types = <uint8_t*> PyMem_Malloc(self.width)
        self.buckets = <BucketC*> PyMem_Calloc(FIRST_BUCKETS, sizeof(BucketC))
        if self.own_fns is NULL or self.earlier_fns is NULL or self.types is NULL or self.buckets is NULL:
            raise MemoryError
        self.mask = FIRST_BUCKETS - 1
        for i in range(self.width):
            executor = own[i]
            self.own_fns[i] = &executor.c
            self.types[i] = <uint8_t> executor.type
            self.plain = (self.plain or i == 0) and executor.kind == VARIABLE
            executor = earlier[i]
            self.earlier_fns[i] = &executor.c

    def __dealloc__(self):
        PyMem_Free(self.own_fns)
        PyMem_Free(self.earlier_fns)
        PyMem_Free(self.types)
        PyMem_Free(self.buckets)

    cdef bint hash(self, const ExecC** fns, EventC* event, FrameC* frame, uint64_t* out) except -1:
        """Compute the hash of a key. A null equals nothing, so that a key with one is no key."""
        cdef int i, status
        cdef CellC value
        cdef uint64_t hash = frame.partition if self.partitioned else 0
        for i in range(self.width):
            value.bits = 0
            status = fns[i].fn(fns[i], event, frame, &value)
            if status == NULL_VALUE:
                return False
            if self.types[i] == BOOL:
                value.i = status == TRUE
            if self.types[i] == STRING:
                hash = mix(hash + text_hash(value.o))
            else:
                hash = mix(hash + canonical(self.types[i], &value))
        out[0] = hash
        return True

    cdef int place(self, EntryC* entry, FrameC* frame) except -1:
        if not self.hash(self.earlier_fns, NULL, frame, &entry.hash):
            return 0
        if self.size > <Py_ssize_t> self.mask:
            self.grow()
        self.size += 1
        entry.keyed = True
        chain(&self.buckets[entry.hash & self.mask], entry)
        return 0

    cdef int grow(self) except -1:
        """Double the table. The entries of a chain keep their order."""
        cdef uint64_t i, mask = 2 * self.mask + 1
        cdef EntryC* entry
        cdef EntryC* following
        cdef BucketC* buckets = <BucketC*> PyMem_Calloc(mask + 1, sizeof(BucketC))
        if buckets is NULL:
            raise MemoryError
        for i in range(self.mask + 1):
            entry = self.buckets[i].head
            while entry is not NULL:
                following = entry.bucket_next
                chain(&buckets[entry.hash & mask], entry)
                entry = following
        PyMem_Free(self.buckets)
        self.buckets = buckets
        self.mask = mask
        return 0

    cdef void remove(self, EntryC* entry) noexcept:
        cdef BucketC* bucket = &self.buckets[entry.hash & self.mask]
        if entry.bucket_prev is NULL:
            bucket.head = entry.bucket_next
        else:
            entry.bucket_prev.bucket_next = entry.bucket_next
        if entry.bucket_next is NULL:
            bucket.tail = entry.bucket_prev
        else:
            entry.bucket_next.bucket_prev = entry.bucket_prev
        entry.keyed = False
        self.size -= 1

    cdef void fetch(self, EventC** events, Py_ssize_t i, Py_ssize_t n, FrameC* frame) noexcept:
        """Ask for what the events behind event i of a block will need. All is found anew at each look."""
        cdef uint64_t hash
        cdef EntryC* entry
        if i + FAR < n and hash_plain(self, events[i + FAR], frame, &hash):
            fetch_line(&self.buckets[hash & self.mask])
        if i + NEAR < n and hash_plain(self, events[i + NEAR], frame, &hash):
            entry = self.buckets[hash & self.mask].head
            if entry is not NULL:
                fetch_line(entry)
                fetch_line(<char*> entry + 64)
                fetch_line(<char*> entry + 128)
        if i + NEXT < n and hash_plain(self, events[i + NEXT], frame, &hash):
            entry = self.buckets[hash & self.mask].head
            if entry is not NULL:
                fetch_line(entry.prev)
                fetch_line(entry.next)
                fetch_line(entry.partial.slots[0])

    cdef EntryC* find(self, EventC* event, FrameC* frame) except? NULL:
        cdef uint64_t hash
        if self.size == 0 or not self.hash(self.own_fns, event, frame, &hash):
            return NULL
        return same_key(self.buckets[hash & self.mask].head, hash)


cdef inline void chain(BucketC* bucket, EntryC* entry) noexcept:
    """Put an entry at the end of a chain."""
    entry.bucket_next = NULL
    entry.bucket_prev = bucket.tail
    if bucket.tail is NULL:
        bucket.head = entry
    else:
        bucket.tail.bucket_next = entry
    bucket.tail = entry


ctypedef bint (*hash_fn)(PatternIndex index, EventC* event, FrameC* frame, uint64_t* out) noexcept


cdef bint hash_checked(PatternIndex index, EventC* event, FrameC* frame, uint64_t* out) except -1:
    return index.hash(index.own_fns, event, frame, out)


# Plain attributes are read without fail.
cdef hash_fn hash_plain = <hash_fn> hash_checked
