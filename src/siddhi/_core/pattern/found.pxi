# Completed matches on their way to the selection.

@cython.final
@cython.no_gc_clear
cdef class Found:
    """The completed matches of one query, in order of completion.

    Args:
        app: the app's context.
        matches: allocator of the partial matches.
        view: events that the selection sees.
        next: the selection.
    """

    def __init__(self, AppContext app not None, Matches matches not None, PatternView view not None,
                 Processor next not None):
        self.matches = matches
        self.view = view
        self.next = next
        self.frame = &app.frame
        self.moments = EventPool(Layout((), ()))
        self.moment = acquire(self.moments)
        self.moment.body[0] = 0

    def __dealloc__(self):
        if self.moment is not NULL:
            self.clear()
            release(self.moments, self.moment)
        PyMem_Free(self.items)

    cdef int add(self, PartialC* partial) except -1:
        """Add a complete match. It is retained until it is emitted; a copy if it may still change."""
        cdef PartialC* kept = partial
        if goes_on(partial):
            kept = self.matches.copy(partial, self.matches.n_slots)
        else:
            partial.refs += 1
        try:
            self.push(kept)
        except MemoryError:
            self.matches.drop(kept)
            raise
        return self.push(NULL) if self.separate else 0

    cdef int push(self, PartialC* partial) except -1:
        cdef PartialC** items
        cdef Py_ssize_t capacity
        if self.size == self.capacity:
            capacity = max(16, 2 * self.capacity)
            items = <PartialC**> PyMem_Realloc(self.items, capacity * sizeof(void*))
            if items is NULL:
                raise MemoryError
            self.items = items
            self.capacity = capacity
        self.items[self.size] = partial
        self.size += 1
        return 0

    cdef int deliver(self) except -1:
        """Pass the matches to the selection, chunk by chunk. Reentrant: the output may send into this query again."""
        cdef PartialC** items = self.items
        cdef Py_ssize_t i = 0, n = self.size, capacity = self.capacity
        cdef bint in_chunk = False
        self.items = NULL
        self.size = 0
        self.capacity = 0
        try:
            for i in range(n):
                if items[i] is NULL:
                    if in_chunk:
                        in_chunk = False
                        self.next.finish()
                elif not in_chunk and (i + 1 == n or items[i + 1] is NULL):
                    self.emit_match(items[i], True)
                else:
                    in_chunk = True
                    self.emit_match(items[i], False)
            if in_chunk:
                self.next.finish()
        finally:
            for i in range(n):
                if items[i] is not NULL:
                    self.matches.drop(items[i])
            if self.items is NULL:
                self.items = items
                self.capacity = capacity
            else:
                PyMem_Free(items)
        return 0

    cdef int emit_match(self, PartialC* partial, bint alone) except -1:
        self.frame.slots = self.view.show(partial, NULL)
        self.moment.timestamp = partial.timestamp
        self.moment.group = 0
        return self.next.process_one(self.moment) if alone else self.next.process(self.moment)

    cdef void cut(self, Py_ssize_t size) noexcept:
        """Drop all but the first `size` items."""
        while self.size > size:
            self.size -= 1
            if self.items[self.size] is not NULL:
                self.matches.drop(self.items[self.size])

    cdef void clear(self) noexcept:
        self.cut(0)
