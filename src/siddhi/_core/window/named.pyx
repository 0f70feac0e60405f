"""Named windows: publication of the events that leave the window."""

cimport cython
from libc.stdint cimport int64_t

from siddhi._core.record.chunk cimport chunk_append, chunk_clear, chunk_release
from siddhi._core.record.event cimport CURRENT, EventC, retain
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport BlockTraits, refuse_blocks
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.stream.junction cimport send


@cython.final
@cython.no_gc_clear
cdef class WindowPublisher(Processor):
    """Last operator of a named window. RESET is not published.

    Args:
        app: context of the app.
        output: junction of the window's readers; its pool is that of the window's records.
        current, expired: event types that readers get.
    """

    def __init__(self, AppContext app not None, StreamJunction output not None, bint current, bint expired):
        self.app = app
        self.output = output
        self.pool = output.pool
        self.current = current
        self.expired = expired
        chunk_clear(&self.out)

    def __dealloc__(self):
        if self.pool is not None:
            chunk_release(&self.out, self.pool)

    def hold(self, NumberedEvents numbered not None):
        """Maintain the indexes of these events. Call it before the first event."""
        self.numbered = numbered

    cdef void abort(self) noexcept:
        chunk_release(&self.out, self.pool)

    cdef int process(self, EventC* event) except -1:
        cdef EventC* slots[2]
        cdef EventC** before
        if self.numbered is not None:
            before = self.app.frame.slots
            self.app.frame.slots = slots
            try:
                self.numbered.follow(event, &self.app.frame)
            finally:
                self.app.frame.slots = before
        if self.current if event.type == CURRENT else self.expired:
            retain(self.pool, event)
            chunk_append(&self.out, event)
        return 0

    cdef int reset(self, int64_t timestamp) except -1:
        return 0

    cdef int finish(self) except -1:
        cdef EventChunk chunk
        if self.out.head is NULL:
            return 0
        # Detach the chunk first: a reader may insert into this window again.
        chunk = self.out
        chunk_clear(&self.out)
        try:
            return send(self.output, &chunk)
        finally:
            chunk_release(&chunk, self.pool)

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        refuse_blocks(traits)
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        if self.numbered is not None:
            self.numbered.stale = True
        return 0
