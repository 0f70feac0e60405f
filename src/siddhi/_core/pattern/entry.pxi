# Receivers of a pattern.

@cython.final
cdef class PatternEntry(Receiver):
    """Passes the events of one stream to a pattern.

    Args:
        pattern: the pattern.
        stream: index of the stream in the pattern.
        source: junction of the stream; handles failures of single rows of a block.
        reads: bit mask of the attributes that the pattern reads; all ones for more than 64 attributes.
        filing: entries of the predicate index of the stream; None: not filed.
        sleeps: whether the filing holds only while no partial match waits: what meets no entry begins none.
    """

    def __init__(self, Pattern pattern not None, int stream, FaultSink source not None, uint64_t reads,
                 tuple filing=None, bint sleeps=False):
        self.pattern = pattern
        self.stream = stream
        self.source = source
        self.index = pattern.index_of(stream)
        self.read_mask = reads
        self.on_chunk = <receive_fn> receive_checked
        self.filing = filing
        if sleeps:
            self.sleeper = Sleeper()
            self.on_chunk = <receive_fn> receive_awake
            pattern.sleepers = [*(pattern.sleepers or ()), self.sleeper]

    def move(self, FaultSink source not None):
        """Receive from another stream with the same records."""
        self.source = source

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        self.pattern.bind_blocks(traits)
        traits.takes = True
        traits.reads = self.read_mask
        return 0

    cdef int receive(self, EventChunk* chunk) except -1:
        return receive_checked(self, chunk) if self.sleeper is None else receive_awake(self, chunk)

    cdef int receive_block(self, EventC** events, Py_ssize_t n) except -1:
        cdef bint slept = not self.pattern.awake
        if self.sleeper is None:
            return self.receive_each(events, n)
        self.pattern.rouse()
        try:
            return self.receive_each(events, n)
        finally:
            self.pattern.doze(slept)

    cdef int receive_each(self, EventC** events, Py_ssize_t n) except -1:
        cdef Py_ssize_t i = 0
        cdef PatternIndex index = self.index
        while i < n:
            try:
                while i < n:
                    if index is not None and index.size >= PREFETCH_MIN_SIZE:
                        index.prefetch(events, i, n, self.pattern.frame)
                    self.pattern.take_one(self.stream, events[i])
                    i += 1
            except Exception as error:
                self.pattern.abort()
                self.source.fault(error, events[i])
                i += 1
            finally:
                if index is not None:
                    index.current = NULL
        return 0

    cdef void abort(self) noexcept:
        self.pattern.abort()


cdef int receive_checked(PatternEntry entry, EventChunk* chunk) except -1:
    cdef int status
    if chunk.head.next is NULL and chunk.head.type <= EXPIRED:
        if entry.index is not None and entry.index.size >= PREFETCH_MIN_SIZE:
            entry.index.prefetch_lookup(chunk.head, entry.pattern.frame)
            status = one_unchecked(entry.pattern, entry.stream, chunk.head)
            entry.index.current = NULL
        else:
            status = one_unchecked(entry.pattern, entry.stream, chunk.head)
    else:
        status = chunk_unchecked(entry.pattern, entry.stream, chunk.head, entry.source)
    if status == -1:
        entry.pattern.abort()
    return status


cdef int receive_awake(PatternEntry entry, EventChunk* chunk) except -1:
    """Receive with a filed entry: while the pattern is called and while it holds partial matches, it needs every event."""
    cdef bint slept = not entry.pattern.awake
    cdef int status
    entry.pattern.rouse()
    status = receive_quietly(entry, chunk)
    entry.pattern.doze(slept)
    return status


ctypedef int (*receive_entry_fn)(PatternEntry entry, EventChunk* chunk) noexcept
cdef receive_entry_fn receive_quietly = <receive_entry_fn> receive_checked

ctypedef int (*event_fn)(Pattern pattern, int stream, EventC* event) noexcept
ctypedef int (*chunk_fn)(Pattern pattern, int stream, EventC* event, FaultSink source) noexcept


cdef int one_checked(Pattern pattern, int stream, EventC* event) except -1:
    return pattern.take_one(stream, event)


cdef int chunk_checked(Pattern pattern, int stream, EventC* event, FaultSink source) except -1:
    return pattern.take_chunk(stream, event, source)


cdef event_fn one_unchecked = <event_fn> one_checked
cdef chunk_fn chunk_unchecked = <chunk_fn> chunk_checked
