"""Receivers and processors: the operators of a query."""

cdef int receive_virtual(void* receiver, EventChunk* chunk) except -1:
    return (<Receiver> receiver).receive(chunk)


cdef class Wakes:
    """Index that follows which receivers need every event."""

    cdef void wake(self, int32_t receiver, bint awake) noexcept:
        pass


cdef class Sleeper:
    """Whether a filed receiver needs every event for the time being."""

    cdef void set(self, bint awake) noexcept:
        if self.awake != awake:
            self.awake = awake
            if self.index is not None:
                self.index.wake(self.receiver, awake)


cdef class Receiver(Timed):
    """Takes the chunks of a junction."""

    def __cinit__(self):
        self.on_chunk = <receive_fn> receive_virtual

    cdef int receive(self, EventChunk* chunk) except -1:
        raise TypeError(f"{type(self).__name__} receives nothing")

    cdef int receive_block(self, EventC** events, Py_ssize_t n) except -1:
        cdef EventChunk chunk
        cdef Py_ssize_t i
        for i in range(n):
            chunk.head = events[i]
            chunk.tail = events[i]
            self.receive(&chunk)
        return 0

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        refuse_blocks(traits)
        return 0


cdef class Processor(Timed):
    """A step of a query. Stateless by default; passes everything on."""

    cdef int process(self, EventC* event) except -1:
        return self.next.process(event)

    cdef int process_one(self, EventC* event) except -1:
        self.process(event)
        return self.finish()

    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1:
        while at[0] < n:
            self.process_one(events[at[0]])
            at[0] += 1
        return 0

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        # In playback a block comes before the clock has moved to its rows: steps that do not read the clock override this.
        cdef bint order_free
        refuse_blocks(traits)
        if self.next is not None:
            self.next.bind_blocks(traits)
        self.next_takes_pairs = traits.takes_pairs
        order_free = traits.order_free and not self.app.frame.playback
        refuse_blocks(traits)
        traits.order_free = order_free
        return 0

    cdef bint pairs_ready(self) noexcept:
        return False

    cdef int process_pairs(self, EventC** left, EventC** events, Py_ssize_t n) except -1:
        raise TypeError(f"{type(self).__name__} takes no pairs")

    cdef int prefetch(self, EventC** events, Py_ssize_t n) except -1:
        return 0

    cdef int reset(self, int64_t timestamp) except -1:
        return self.next.reset(timestamp)

    cdef int finish(self) except -1:
        return self.next.finish()

    cdef void abort(self) noexcept:
        if self.next is not None:
            self.next.abort()

    cdef int ensure(self, unsigned int partition) except -1:
        return 0

    cdef int drop(self, unsigned int partition) except -1:
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        return 0

    def save(self, SnapshotWriter writer not None):
        """Write the state of all partition ids."""
        self.write(writer)

    def load(self, SnapshotReader reader not None):
        """Replace the state by a written one."""
        self.read(reader)

    def make_state(self, unsigned int partition):
        self.ensure(partition)

    def drop_state(self, unsigned int partition):
        self.drop(partition)
