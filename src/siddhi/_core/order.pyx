"""Order by."""

from siddhi._core.chunk cimport chunk_append, chunk_clear
from siddhi._core.event cimport OBJECT, EventC
from siddhi._core.executor cimport Executor, evaluate_to_python
from siddhi._core.object_hash cimport java_hash


cdef class ChunkOrder:
    """Sorts chunks of output events.

    Args:
        app: the app's context.
        keys: executors over the output event, most significant first.
        descending: one bool per key.
    """

    def __init__(self, AppContext app not None, tuple keys not None, tuple descending not None):
        self.app = app
        self.keys = keys
        self.descending = descending

    cdef int sort(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        cdef EventC* following
        cdef list rows, run = []
        cdef int type
        if event is NULL or event.next is NULL:
            return 0
        rows = []
        type = event.type
        # Keys become Python values: ordering whole batches is rare enough to leave it to the best sort there is.
        while event is not NULL:
            if event.type != type:
                rows.extend(self.sorted_run(run))
                run = []
                type = event.type
            run.append((self.values(event), <size_t> event))
            event = event.next
        rows.extend(self.sorted_run(run))
        chunk_clear(chunk)
        for _, address in rows:
            following = <EventC*> <size_t> address
            chunk_append(chunk, following)
        return 0

    cdef tuple values(self, EventC* event):
        """The keys of an output event."""
        self.app.frame.output = event
        return self.read(event)

    cdef tuple read(self, EventC* event):
        cdef Executor key
        cdef list found = []
        for key in self.keys:
            value = evaluate_to_python(key, event, &self.app.frame)
            # Objects need not have an order: as in Siddhi it is that of their hashes.
            found.append(java_hash(value) if key.type == OBJECT and value is not None else value)
        return tuple(found)

    def sorted_run(self, list run):
        for i in range(len(self.keys) - 1, -1, -1):
            present = [row for row in run if row[0][i] is not None]
            absent = [row for row in run if row[0][i] is None]
            present.sort(key=lambda row, i=i: row[0][i], reverse=self.descending[i])
            run = present + absent
        return run
