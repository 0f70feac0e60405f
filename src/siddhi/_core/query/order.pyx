"""Order by."""

from siddhi._core.expression.executor cimport Executor, evaluate_to_python
from siddhi._core.index.object_hash cimport java_hash
from siddhi._core.record.chunk cimport chunk_append, chunk_clear
from siddhi._core.record.event cimport OBJECT, EventC


cdef class ChunkOrder:
    """Sorts the output events of a chunk.

    Args:
        app: context of the app.
        keys: executors over the output event, most significant first.
        descending: one bool per key.
        early: the keys read the input of an output event, so they are evaluated when it is created.
    """

    def __init__(self, AppContext app not None, tuple keys not None, tuple descending not None, bint early=False):
        self.app = app
        self.keys = keys
        self.descending = descending
        self.noted = {} if early else None

    cdef int note(self, EventC* event, EventC* out) except -1:
        """Evaluate and store the keys of an output event while its input is available."""
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
        # Keys become Python values: sorting whole batches is rare, and Python's sort is good.
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
            # Objects need not be comparable: as in Siddhi they are ordered by their hashes.
            found.append(java_hash(value) if key.type == OBJECT and value is not None else value)
        return tuple(found)

    def sorted_run(self, list run):
        for i in range(len(self.keys) - 1, -1, -1):
            absent = [row for row in run if row[0][i] is None]
            # NaN is not comparable with numbers; it is ordered after all of them.
            nans = [row for row in run if row[0][i] != row[0][i]]
            numbers = [row for row in run if row[0][i] is not None and row[0][i] == row[0][i]]
            numbers.sort(key=lambda row, i=i: row[0][i], reverse=self.descending[i])
            run = (nans + numbers if self.descending[i] else numbers + nans) + absent
        return run
