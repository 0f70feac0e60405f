"""Entry of a source joined with itself."""

cimport cython
from cpython.mem cimport PyMem_Free

from siddhi._core.query.entry cimport QueryEntry
from siddhi._core.query.output cimport BufferedOutputC, QueryOutput, columns_of
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC
from siddhi._core.runtime.operator cimport BlockTraits, Receiver, refuse_blocks


@cython.final
cdef class SelfJoinEntry(Receiver):
    """Passes each event of a chunk through the left side, then through the right one, before the next event, as Siddhi
    does.

    Output is buffered until the chunk is done: one chunk for each pass through a side.

    Args:
        left, right: entries of the sides; None if a side ignores arriving events.
        output: output of the query.
    """

    cdef readonly QueryEntry left
    cdef readonly QueryEntry right
    cdef QueryOutput output
    cdef BufferedOutputC spare         # keeps its memory between two chunks

    def __init__(self, QueryEntry left, QueryEntry right, QueryOutput output not None):
        self.left = left
        self.right = right
        self.output = output

    def __dealloc__(self):
        PyMem_Free(self.spare.chunks)

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef QueryOutput output = self.output
        cdef BufferedOutputC* outer = output.buffered
        # Detached while it is in use: an expression may call Python, which may send into this join again.
        cdef BufferedOutputC own = self.spare
        if columns_of(output) is not None:
            # Rows go into the columns of a batch callback, which is called later anyway.
            return self.pass_on(chunk)
        self.spare = BufferedOutputC(NULL, 0, 0)
        output.buffered = &own
        output.choose()
        try:
            self.pass_on(chunk)
            output.buffered = NULL
            output.choose()
            output.deliver_buffered(&own)
        finally:
            output.buffered = outer
            output.choose()
            output.drop_buffered(&own)
            if self.spare.chunks is NULL:
                self.spare = own
            else:
                PyMem_Free(own.chunks)
        return 0

    cdef int pass_on(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        cdef EventC* following
        cdef EventChunk one
        while event is not NULL:
            following = event.next
            event.next = NULL
            one.head = one.tail = event
            try:
                if self.left is not None:
                    self.left.receive(&one)
                if self.right is not None:
                    self.right.receive(&one)
            finally:
                event.next = following
            event = following
        return 0

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        refuse_blocks(traits)
        traits.reads = (0 if self.left is None else self.left.read_mask) | (
            0 if self.right is None else self.right.read_mask)
        return 0

    cdef void abort(self) noexcept:
        if self.left is not None:
            self.left.abort()
        if self.right is not None:
            self.right.abort()
