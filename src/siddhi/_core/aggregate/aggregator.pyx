"""Attribute aggregators: base class with the array of states, states without groups."""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memcpy, memset

from siddhi._core.expression.executor cimport COMPUTED, VARIABLE, Executor
from siddhi._core.record.event cimport OBJECT, CellC, EventPool, Layout, acquire, cell_from_python, release
from siddhi._core.record.frame cimport box
from siddhi._core.runtime.context cimport AppContext


cdef class Aggregator(Executor):
    """Base class: an executor with a state per group id. Subclasses set the functions and override methods as needed.

    The bytes of a state that was not created, or was destroyed, are zero. For a plain struct this is enough: it is
    reset to zeros and written as it is.
    """

    def __dealloc__(self):
        PyMem_Free(self.states)

    cdef bint is_safe(self) noexcept:
        cdef Executor argument
        for argument in self.children:
            if argument.type == OBJECT or (argument.kind != VARIABLE and argument.c.map is NULL):
                return False
        return True

    cdef int setup(self, Py_ssize_t stride) except -1:
        self.stride = stride
        self.c.data = &self.states
        return 0

    cdef int create(self, uint32_t group_id) except -1:
        cdef char* states
        cdef Py_ssize_t capacity
        if group_id >= self.capacity:
            capacity = max(<Py_ssize_t> group_id + 1, 2 * self.capacity)
            states = <char*> PyMem_Realloc(self.states, capacity * self.stride)
            if states is NULL:
                raise MemoryError
            memset(states + self.capacity * self.stride, 0, (capacity - self.capacity) * self.stride)
            self.states = states
            self.capacity = capacity
        return self.reset(group_id)

    cdef int reset(self, uint32_t group_id) except -1:
        memset(self.states + <Py_ssize_t> group_id * self.stride, 0, self.stride)
        return 0

    cdef int destroy(self, uint32_t group_id) except -1:
        return self.reset(group_id)

    cdef bint is_empty(self, uint32_t group_id) noexcept:
        return False

    cdef bint has_room(self, EventC* event, FrameC* frame, KeyLimit limit) except -1:
        return True

    cdef int write(self, uint32_t group_id, SnapshotWriter writer) except -1:
        return writer.put_bytes(self.states + <Py_ssize_t> group_id * self.stride, self.stride)

    cdef int read(self, uint32_t group_id, SnapshotReader reader) except -1:
        memcpy(self.states + <Py_ssize_t> group_id * self.stride, reader.take(self.stride), self.stride)
        return 0

    # --- for tests and debugging: single steps of a selector

    def open(self, uint32_t group_id):
        """Create an empty state for a group id."""
        self.create(group_id)

    def step(self, Layout layout not None, tuple row not None, int type, uint32_t group_id=0):
        """Evaluate on an event of a layout, ``type`` CURRENT or EXPIRED; return the value."""
        cdef EventPool pool = EventPool(layout)
        cdef EventC* event
        cdef FrameC frame
        cdef CellC value
        cdef int i, status
        self.check(group_id)
        event = acquire(pool)
        memset(&frame, 0, sizeof(FrameC))
        memset(event.body, 0, 8 * layout.words)
        frame.group = group_id
        frame.type = type
        try:
            for i in range(layout.width):
                cell_from_python(event, layout, i, row[i])
            status = self.c.fn(&self.c, event, &frame, &value)
            return box(status, self.type, &value)
        finally:
            release(pool, event)

    def clear(self, uint32_t group_id=0):
        """Reset a state."""
        self.check(group_id)
        self.reset(group_id)

    def close(self, uint32_t group_id=0):
        """Destroy the state of a group id."""
        self.check(group_id)
        self.destroy(group_id)

    def empty(self, uint32_t group_id=0):
        """Return whether a state holds no value."""
        self.check(group_id)
        return self.is_empty(group_id)

    def save(self, uint32_t group_id=0):
        """Return the state of a group id as bytes."""
        cdef SnapshotWriter writer = SnapshotWriter()
        self.check(group_id)
        self.write(group_id, writer)
        return writer.getvalue()

    def load(self, bytes data not None, uint32_t group_id=0):
        """Read a state from :meth:`save` into an open and empty group id."""
        cdef SnapshotReader reader = SnapshotReader(data)
        self.check(group_id)
        self.read(group_id, reader)
        if not reader.at_end():
            raise ValueError("snapshot is damaged: extra bytes after the state of an aggregator")

    cdef int check(self, uint32_t group_id) except -1:
        if group_id >= self.capacity:
            raise IndexError(f"slot {group_id} has not been opened")
        return 0


cdef int found(Aggregator aggregator, eval_fn fn, int type, tuple arguments, str name, Py_ssize_t stride) except -1:
    """Initialize a new aggregator: function, operands and size of a state."""
    cdef Executor argument
    aggregator.c.fn = fn
    aggregator.type = type
    aggregator.kind = COMPUTED
    aggregator.adopt(arguments)
    if arguments:
        argument = arguments[0]
        aggregator.c.cell, aggregator.c.word, aggregator.c.bit = argument.c.cell, argument.c.word, argument.c.bit
        aggregator.description = f"{name}({', '.join([each.description for each in arguments])})"
    else:
        aggregator.description = f"{name}()"
    return aggregator.setup(stride)


# --- States of aggregators without groups: those of a selection without group by, and those in filters.

cdef class AggregatorStates(Processor):
    """Creates, drops, writes and reads one state per partition id for each aggregator.

    Args:
        app: context of the app.
        aggregators: the aggregators, in order of evaluation.
    """

    def __init__(self, AppContext app not None, list aggregators not None):
        self.app = app
        self.aggregators = aggregators
        self.live = set()

    cdef int ensure(self, unsigned int partition) except -1:
        cdef Aggregator aggregator
        if partition not in self.live:
            for aggregator in self.aggregators:
                aggregator.create(partition)
            self.live.add(partition)
        return 0

    cdef int drop(self, unsigned int partition) except -1:
        cdef Aggregator aggregator
        if partition in self.live:
            for aggregator in self.aggregators:
                aggregator.destroy(partition)
            self.live.discard(partition)
        return 0

    cdef int reset_partition(self, unsigned int partition) except -1:
        cdef Aggregator aggregator
        for aggregator in self.aggregators:
            aggregator.reset(partition)
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef Aggregator aggregator
        writer.put_u32(len(self.live))
        for partition in sorted(self.live):
            writer.put_u32(partition)
            for aggregator in self.aggregators:
                aggregator.write(partition, writer)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef Aggregator aggregator
        cdef unsigned int n, partition
        cdef set missing = set(self.live)
        for partition in missing:
            self.drop(partition)
        try:
            n = reader.get_u32()
            for _ in range(n):  # no-cython-lint
                partition = reader.get_u32()
                if partition not in missing:
                    raise ValueError(f"snapshot is damaged: aggregates have an unknown partition key ({partition})")
                missing.discard(partition)
                self.ensure(partition)
                for aggregator in self.aggregators:
                    aggregator.read(partition, reader)
        finally:
            for partition in missing:
                self.ensure(partition)
        return 0
