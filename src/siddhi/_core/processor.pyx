"""Receivers and processors: the steps of a query, and the filter."""

from siddhi._core.executor cimport TRUE, evaluate_condition


cdef class Receiver(Timed):
    """Takes the chunks of a junction."""

    cdef int receive(self, EventChunk* chunk) except -1:
        raise TypeError(f"{type(self).__name__} receives nothing")


cdef class Processor(Timed):
    """A step of a query. Stateless by default; passes everything on."""

    cdef int process(self, EventC* event) except -1:
        return self.next.process(event)

    cdef int process_one(self, EventC* event) except -1:
        self.process(event)
        return self.finish()

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
        """Write the state of all partition slots."""
        self.write(writer)

    def load(self, SnapshotReader reader not None):
        """Replace the state by a written one."""
        self.read(reader)

    def make_state(self, unsigned int partition):
        self.ensure(partition)

    def drop_state(self, unsigned int partition):
        self.drop(partition)


cdef class FilterProcessor(Processor):
    """A filter behind a window or a stream function. RESET always passes: a filter decides about events only."""

    def __init__(self, AppContext app not None, Executor condition not None):
        self.app = app
        self.condition = condition

    cdef int process(self, EventC* event) except -1:
        self.app.frame.type = event.type
        self.app.frame.group = self.app.frame.partition
        if evaluate_condition(&self.condition.c, event, &self.app.frame) == TRUE:
            return self.next.process(event)
        return 0
