"""The selection of a join."""

cimport cython

from siddhi._core.chunk cimport chunk_append, chunk_clear, chunk_release
from siddhi._core.context cimport AppContext
from siddhi._core.event cimport release
from siddhi._core.group cimport end_chunk
from siddhi._core.selector cimport EACH, LAST, LAST_PER_GROUP


@cython.final
cdef class PairOrder(ChunkOrder):
    """Sorts by what the output does not show: the keys are read when a pair is selected, while it is at hand."""

    def __init__(self, AppContext app not None, tuple keys not None, tuple descending not None):
        ChunkOrder.__init__(self, app, keys, descending)
        self.kept = {}

    cdef int note(self, EventC* pair, EventC* out) except -1:
        self.app.frame.output = out
        self.kept[<size_t> out] = self.read(pair)
        return 0

    cdef tuple values(self, EventC* event):
        return self.kept[<size_t> event]


@cython.no_gc_clear
cdef class JoinSelector(Selector):
    """A selector that is told where the matches of one event end."""

    def __init__(self, *arguments):
        Selector.__init__(self, *arguments)
        self.pairs = self.ordering if isinstance(self.ordering, PairOrder) else None

    def __dealloc__(self):
        if self.pool is not None:
            chunk_release(&self.done, self.pool)

    cdef void abort(self) noexcept:
        Selector.abort(self)
        chunk_release(&self.done, self.pool)

    cdef EventC* select(self, EventC* event) except? NULL:
        cdef EventC* out = Selector.select(self, event)
        cdef bint noted = False
        if self.pairs is None or out is NULL:
            return out
        try:
            self.pairs.note(event, out)
            noted = True
        finally:
            if not noted:
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
            return 0
        part = self.out
        chunk_clear(&self.out)
        if self.ordering is not None or self.limit >= 0 or self.offset > 0:
            self.arrange(&part)
            if self.pairs is not None:
                # Other events will have these addresses.
                self.pairs.kept.clear()
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
