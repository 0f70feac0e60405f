"""The selection of a join."""

cimport cython

from siddhi._core.chunk cimport chunk_append, chunk_clear, chunk_release
from siddhi._core.event cimport EventC, release
from siddhi._core.group cimport end_chunk
from siddhi._core.order cimport ChunkOrder
from siddhi._core.selector cimport EACH, LAST, LAST_PER_GROUP


@cython.no_gc_clear
cdef class JoinSelector(Selector):
    """A selector that is told where the matches of one event end."""

    def __dealloc__(self):
        if self.pool is not None:
            chunk_release(&self.done, self.pool)

    cdef void forget_keys(self) noexcept:
        if self.ordering is not None and (<ChunkOrder> self.ordering).noted is not None:
            (<ChunkOrder> self.ordering).noted.clear()

    cdef void abort(self) noexcept:
        Selector.abort(self)
        self.forget_keys()
        chunk_release(&self.done, self.pool)

    cdef EventC* select(self, EventC* event) except? NULL:
        cdef EventC* out = Selector.select(self, event)
        cdef ChunkOrder ordering = self.ordering
        cdef bint done = False
        if out is not NULL and ordering is not None and ordering.noted is not None:
            try:
                ordering.note(event, out)
                done = True
            finally:
                if not done:
                    release(self.pool, out)
        return out

    cdef int end_part(self) except -1:
        """Reduce what came since the last part to what the query puts out of it."""
        cdef EventChunk part
        cdef Py_ssize_t i
        if self.mode == LAST:
            if self.last is not NULL:
                chunk_append(&self.out, self.last)
                self.last = NULL
        elif self.mode == LAST_PER_GROUP:
            for i in range(self.n_order):
                chunk_append(&self.out, self.last_of_group[self.order[i]])
                self.last_of_group[self.order[i]] = NULL
            self.n_order = 0
        if self.out.head is NULL:
            self.forget_keys()
            return 0
        part = self.out
        chunk_clear(&self.out)
        if self.ordering is not None or self.limit >= 0 or self.offset > 0:
            self.arrange(&part)
            self.forget_keys()
            if part.head is NULL:
                return 0
        if self.done.tail is NULL:
            self.done = part
        else:
            self.done.tail.next = part.head
            self.done.tail = part.tail
        return 0

    cdef int finish(self) except -1:
        cdef EventChunk chunk
        self.end_part()
        # Groups live on until here: one that loses its last match may get others from the next event of the chunk.
        if self.groups is not None:
            end_chunk(self.groups)
        if self.done.head is NULL:
            return 0
        # Detached first: what follows may send into this query again.
        chunk = self.done
        chunk_clear(&self.done)
        if self.mode == EACH and self.ordering is None and self.limit < 0 and self.offset == 0:
            return self.output.emit(&chunk, self.last_timestamp)
        return self.output.emit(&chunk, chunk.tail.timestamp)
