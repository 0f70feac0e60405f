# Equality index of a pattern's state.

cdef enum:
    FIRST_BUCKETS = 16
    FAR = 28                       # lookahead, in events: prefetch the bucket,
    NEAR = 20                      # then the partial match,
    NEXT = 11                      # then its events


@cython.final
@cython.no_gc_clear
cdef class PatternIndex:
    """Finds the partial matches of a state by key.

    Args:
        own: executors over the current event, of numbers, bools or strings.
        earlier: executors over the events of the partial match; same types, same order.
        partitioned: partial matches of several partition keys share the index.
        plain: the executors only read attributes.
    """

    def __cinit__(self, tuple own not None, tuple earlier not None, bint partitioned=False, bint plain=False):
        cdef int i
        cdef Executor executor
        self.own = own
        self.earlier = earlier
        self.width = len(own)
        self.partitioned = partitioned
        self.plain = plain
        self.own_fns = <const ExecC**> PyMem_Malloc(self.width * sizeof(void*))
        self.earlier_fns = <const ExecC**> PyMem_Malloc(self.width * sizeof(void*))
        self.types = <uint8_t*> PyMem_Malloc(self.width)
        self.tags = <uint8_t*> allocate_zeroed_arena(FIRST_BUCKETS)
        self.buckets = <BucketC*> allocate_arena(FIRST_BUCKETS * sizeof(BucketC))
        if self.own_fns is NULL or self.earlier_fns is NULL or self.types is NULL:
            raise MemoryError
        if self.tags is NULL or self.buckets is NULL:
            raise MemoryError
        self.mask = FIRST_BUCKETS - 1
        for i in range(self.width):
            executor = own[i]
            self.own_fns[i] = &executor.c
            self.types[i] = <uint8_t> executor.type
            executor = earlier[i]
            self.earlier_fns[i] = &executor.c

        # The hash of a whole number is a bijection.
        self.whole = self.width == 1 and not partitioned and self.types[0] in (INT, LONG)
        self.exact = self.width == 1 and not partitioned and self.types[0] in (INT, LONG, BOOL)

    def __dealloc__(self):
        PyMem_Free(self.own_fns)
        PyMem_Free(self.earlier_fns)
        PyMem_Free(self.types)
        free_arena(self.tags)
        free_arena(self.buckets)

    cdef bint hash(self, const ExecC** fns, EventC* event, FrameC* frame, uint64_t* out) except -1:
        """Compute the hash of a key; return False if the key contains a null, which equals nothing."""
        cdef int i, status
        cdef CellC value
        cdef uint64_t hash
        if self.whole:
            value.bits = 0                         # clears the upper half of an int
            out[0] = 0
            if fns[0].fn(fns[0], event, frame, &value) == NULL_VALUE:
                return False
            out[0] = mix(value.bits)
            return True
        hash = frame.partition if self.partitioned else 0
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

    cdef int insert(self, MatchEntryC* entry, FrameC* frame) except -1:
        cdef BucketC* bucket
        cdef MatchEntryC* last
        cdef uint64_t i
        if not self.hash(self.earlier_fns, NULL, frame, &entry.hash):
            return 0
        if 2 * self.size > <Py_ssize_t> self.mask:
            self.grow()
        self.size += 1
        entry.keyed = True
        entry.bucket_next = NULL
        i = bucket_index(self.tags, self.buckets, self.mask, entry.hash)
        bucket = &self.buckets[i]
        if self.tags[i] == 0:
            self.tags[i] = tag_of(entry.hash)
            bucket.hash = entry.hash
            bucket.head = entry
            entry.bucket_prev = entry
            return 0
        last = bucket.head.bucket_prev
        last.bucket_next = entry
        entry.bucket_prev = last
        bucket.head.bucket_prev = entry
        return 0

    cdef int grow(self) except -1:
        """Double the table. Chains stay intact."""
        cdef uint64_t i, bucket, mask = 2 * self.mask + 1
        cdef uint8_t* tags = <uint8_t*> allocate_zeroed_arena(mask + 1)
        cdef BucketC* buckets = <BucketC*> allocate_arena((mask + 1) * sizeof(BucketC))
        if tags is NULL or buckets is NULL:
            free_arena(tags)
            free_arena(buckets)
            raise MemoryError
        for i in range(self.mask + 1):
            if self.tags[i] != 0:
                bucket = bucket_index(tags, buckets, mask, self.buckets[i].hash)
                tags[bucket] = self.tags[i]
                buckets[bucket] = self.buckets[i]
        free_arena(self.tags)
        free_arena(self.buckets)
        self.tags = tags
        self.buckets = buckets
        self.mask = mask
        return 0

    cdef void remove(self, MatchEntryC* entry) noexcept:
        cdef MatchEntryC* following = entry.bucket_next
        cdef MatchEntryC* before = entry.bucket_prev
        entry.keyed = False
        self.size -= 1
        if before == entry:
            self.clear_bucket(bucket_index(self.tags, self.buckets, self.mask, entry.hash))
        elif before.bucket_next is NULL:           # the last of the chain: entry is the first
            following.bucket_prev = before
            self.buckets[bucket_index(self.tags, self.buckets, self.mask, entry.hash)].head = following
        else:
            before.bucket_next = following
            if following is NULL:
                following = self.buckets[bucket_index(self.tags, self.buckets, self.mask, entry.hash)].head
            following.bucket_prev = before

    cdef void clear_bucket(self, uint64_t hole) noexcept:
        """Free a bucket; shift back the buckets after it that it displaced."""
        cdef uint64_t i = hole, mask = self.mask
        cdef uint8_t* tags = self.tags
        cdef BucketC* buckets = self.buckets
        while True:
            i = (i + 1) & mask
            if tags[i] == 0:
                break
            if ((i - buckets[i].hash) & mask) >= ((i - hole) & mask):
                tags[hole] = tags[i]
                buckets[hole] = buckets[i]
                hole = i
        tags[hole] = 0

    cdef MatchEntryC* find(self, EventC* event, FrameC* frame) except? NULL:
        cdef uint64_t hash, i
        cdef MatchEntryC* entry
        if event == self.current:
            hash = self.current_hash
        elif self.size == 0 or not self.hash(self.own_fns, event, frame, &hash):
            return NULL
        i = bucket_index(self.tags, self.buckets, self.mask, hash)
        if self.tags[i] == 0:
            return NULL
        entry = self.buckets[i].head
        if self.size >= PREFETCH_MIN_SIZE:
            prefetch_partial(entry)
        return entry

    # --- prefetching

    cdef void prefetch_lookup(self, EventC* event, FrameC* frame) noexcept:
        cdef uint64_t hash = 0
        if hash_plain(self, self.own_fns, event, frame, &hash):
            prefetch_home(self, hash)
            self.current = event
            self.current_hash = hash

    cdef void prefetch(self, EventC** events, Py_ssize_t i, Py_ssize_t n, FrameC* frame) noexcept:
        """Prefetch what the events after event i of a block will need."""
        cdef Py_ssize_t k
        if i == 0:
            for k in range(min(FAR, n)):
                self.prefetch_bucket(events, k, frame)
            for k in range(LOOKAHEAD):
                self.prefetched[k] = NULL
            for k in range(min(NEAR, n)):
                prefetch_head(self, k)
            for k in range(min(NEXT, n)):
                prefetch_entry_neighbours(self, k)
        if i + FAR < n:
            self.prefetch_bucket(events, i + FAR, frame)
        if i + NEAR < n:
            prefetch_head(self, i + NEAR)
        if i + NEXT < n:
            prefetch_entry_neighbours(self, i + NEXT)
        # A zero may stand for a null.
        self.current_hash = self.next_hashes[i % LOOKAHEAD]
        self.current = NULL if self.partitioned or self.current_hash == 0 else events[i]

    cdef void prefetch_bucket(self, EventC** events, Py_ssize_t i, FrameC* frame) noexcept:
        cdef uint64_t hash = 0
        hash_plain(self, self.own_fns, events[i], frame, &hash)
        self.next_hashes[i % LOOKAHEAD] = hash
        prefetch_home(self, hash)

    cdef void prefetch_insert(self, FrameC* frame) noexcept:
        cdef uint64_t hash
        if self.current is NULL and hash_plain(self, self.earlier_fns, NULL, frame, &hash):
            prefetch_home(self, hash)

    cdef void prefetch_removal(self, MatchEntryC* entry) noexcept:
        if entry.keyed:
            prefetch_home(self, entry.hash)


cdef inline void prefetch_home(PatternIndex index, uint64_t hash) noexcept:
    """Prefetch the home bucket of a hash and the next one, which may be in another line."""
    cdef uint64_t i = hash & index.mask
    prefetch_line(&index.tags[i])
    prefetch_line(&index.buckets[i])
    prefetch_line(&index.buckets[i] + 1)


cdef inline void prefetch_head(PatternIndex index, Py_ssize_t i) noexcept:
    cdef uint64_t bucket = bucket_index(index.tags, index.buckets, index.mask, index.next_hashes[i % LOOKAHEAD])
    cdef MatchEntryC* entry = NULL if index.tags[bucket] == 0 else index.buckets[bucket].head
    index.prefetched[i % LOOKAHEAD] = entry
    if entry is not NULL:
        prefetch_partial(entry)


cdef inline void prefetch_entry_neighbours(PatternIndex index, Py_ssize_t i) noexcept:
    cdef MatchEntryC* entry = index.prefetched[i % LOOKAHEAD]
    if entry is not NULL and entry.partial is not NULL:
        prefetch_neighbours(entry)


ctypedef bint (*hash_fn)(PatternIndex index, const ExecC** fns, EventC* event, FrameC* frame, uint64_t* out) noexcept


cdef bint hash_checked(PatternIndex index, const ExecC** fns, EventC* event, FrameC* frame, uint64_t* out) except -1:
    return index.hash(fns, event, frame, out)


# Reading plain attributes cannot fail.
cdef hash_fn hash_plain = <hash_fn> hash_checked
