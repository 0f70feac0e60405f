"""Order by."""

from siddhi._core.expression.executor cimport Executor, evaluate_to_python
from siddhi._core.index.object_hash cimport java_hash
from siddhi._core.record.chunk cimport chunk_append, chunk_clear
from siddhi._core.record.event cimport OBJECT, EventC


cdef class ChunkOrder:
    """Sorts chunks of output events.

    Args:
        app: the app's context.
        keys: executors over the output event, most significant first.
        descending: one bool per key.
        early: the keys read what the output event is made of, so that they are noted when it is made.
    """

    def __init__(self, AppContext app not None, tuple keys not None, tuple descending not None, bint early=False):
        self.app = app
        self.keys = keys
        self.descending = descending
        self.noted = {} if early else None

    cdef int note(self, EventC* event, EventC* out) except -1:
        """Remember the keys of an output event, while what it is made of is there."""
        self.noted[<size_t> out] = self.values(event, out)
        return 0

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
            run.append((
                self.values(event, event) if self.noted is None else self.noted[<size_t> event], <size_t> event))
            event = event.next
        rows.extend(self.sorted_run(run))
        chunk_clear(chunk)
        for _, address in rows:
            following = <EventC*> <size_t> address
            chunk_append(chunk, following)
        return 0

    cdef tuple values(self, EventC* event, EventC* out):
        cdef Executor key
        cdef list found = []
        self.app.frame.output = out
        for key in self.keys:
            value = evaluate_to_python(key, event, &self.app.frame)
            # Objects need not have an order: as in Siddhi it is that of their hashes.
            found.append(java_hash(value) if key.type == OBJECT and value is not None else value)
        return tuple(found)

    def sorted_run(self, list run):
        for i in range(len(self.keys) - 1, -1, -1):
            absent = [row for row in run if row[0][i] is None]
            # NaN has no place among numbers that are compared; here it is greater than all of them.
            nans = [row for row in run if row[0][i] != row[0][i]]
            numbers = [row for row in run if row[0][i] is not None and row[0][i] == row[0][i]]
            numbers.sort(key=lambda row, i=i: row[0][i], reverse=self.descending[i])
            run = (nans + numbers if self.descending[i] else numbers + nans) + absent
        return run
