"""Base class of the windows."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_XINCREF
from libc.string cimport memcpy, memset

from siddhi._core.record.event cimport EXPIRED, acquire, release
from siddhi._core.record.frame cimport now_ms
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.lookup cimport found_free


@cython.no_gc_clear
cdef class Window(Processor):
    """Holds events until they expire. Subclasses define when."""

    def __init__(self, AppContext app not None, EventPool pool not None, bint stamps=True):
        self.app = app
        self.pool = pool
        self.stamps = stamps

    cdef int setup(self, Py_ssize_t state_bytes) except -1:
        self.state_bytes = state_bytes
        return 0

    cdef void close_all(self) noexcept:
        # Called from the __dealloc__ of the class that knows the state struct.
        cdef unsigned int i
        for i in range(self.capacity):
            if self.states[i] is not NULL:
                self.close_state(self.states[i])
                PyMem_Free(self.states[i])
                self.states[i] = NULL
        PyMem_Free(self.states)
        self.states = NULL
        self.capacity = 0

    cdef int ensure(self, unsigned int partition) except -1:
        cdef void** states
        cdef unsigned int capacity
        if partition >= self.capacity:
            capacity = max(1, 2 * self.capacity, partition + 1)
            states = <void**> PyMem_Realloc(self.states, capacity * sizeof(void*))
            if states is NULL:
                raise MemoryError
            memset(states + self.capacity, 0, (capacity - self.capacity) * sizeof(void*))
            self.states = states
            self.capacity = capacity
        if self.states[partition] is NULL:
            self.states[partition] = self.new_state()
        return 0

    cdef void* new_state(self) except NULL:
        """Allocate and open a state."""
        cdef void* state = PyMem_Malloc(self.state_bytes)
        if state is NULL:
            raise MemoryError
        memset(state, 0, self.state_bytes)
        try:
            self.open_state(state)
        except:
            self.close_state(state)
            PyMem_Free(state)
            raise
        return state

    cdef int drop(self, unsigned int partition) except -1:
        if partition < self.capacity and self.states[partition] is not NULL:
            self.close_state(self.states[partition])
            PyMem_Free(self.states[partition])
            self.states[partition] = NULL
        return 0

    cdef int renew(self, unsigned int partition) except -1:
        """Replace a state by a new one. On failure the old one stays: a key without a state could not be rolled back."""
        cdef void* fresh = self.new_state()
        self.drop(partition)
        self.states[partition] = fresh
        return 0

    cdef int open_state(self, void* state) except -1:
        """Initialize a zeroed state."""
        return 0

    cdef void close_state(self, void* state) noexcept:
        """Release what the state holds."""
        pass

    cdef int write_state(self, void* state, SnapshotWriter writer) except -1:
        return 0

    cdef int read_state(self, void* state, SnapshotReader reader) except -1:
        """Fill a fresh state. FrameC.partition is set, so timers can be scheduled."""
        return 0

    cdef int collect_events(self, void* state, FoundC* found) except -1:
        raise TypeError(f"{type(self).__name__} cannot be searched")

    @property
    def is_searchable(self):
        """Whether joins and on-demand queries can find events in the window."""
        cdef FoundC found = FoundC(NULL, 0, 0)
        cdef void* fresh = self.new_state()
        try:
            self.collect_events(fresh, &found)
            return True
        except TypeError:
            return False
        finally:
            found_free(&found)
            self.close_state(fresh)
            PyMem_Free(fresh)

    cdef int64_t expiry_time(self) noexcept:
        """Return the clock if expiry times are visible, else 0."""
        return now_ms(&self.app.frame) if self.stamps else 0

    cdef int expire(self, EventC* event, int64_t timestamp) except -1:
        """Emit an event that the window no longer holds as EXPIRED. Consumes its reference."""
        cdef EventC* copy
        cdef int i
        if event.refs > 1:
            copy = acquire(self.pool)
            memcpy(copy.body, event.body, 8 * (self.pool.layout.words + self.pool.layout.width))
            for i in range(self.pool.layout.n_objects):
                Py_XINCREF(<PyObject*> copy.body[self.pool.layout.objects[i]])
            copy.group = event.group
            release(self.pool, event)
            event = copy
        event.type = EXPIRED
        if self.stamps:
            event.timestamp = timestamp
        try:
            return self.next.process(event)
        finally:
            release(self.pool, event)

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef unsigned int i, n = 0
        for i in range(self.capacity):
            if self.states[i] is not NULL:
                n += 1
        writer.put_u32(n)
        for i in range(self.capacity):
            if self.states[i] is not NULL:
                writer.put_u32(i)
                self.write_state(self.states[i], writer)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef unsigned int i, n, partition, before = self.app.frame.partition
        # The keys of the partition were read first: each of them has a state.
        cdef set expected = {i for i in range(self.capacity) if self.states[i] is not NULL}
        n = reader.get_u32()
        if n != len(expected):
            raise ValueError("snapshot is damaged: the keys of a window differ from those of its partition")
        try:
            for _ in range(n):
                partition = reader.get_u32()
                if partition not in expected:
                    raise ValueError(f"snapshot is damaged: a window has an unknown partition key ({partition})")
                expected.remove(partition)
                self.renew(partition)
                self.app.frame.partition = partition
                self.read_state(self.states[partition], reader)
        finally:
            self.app.frame.partition = before
        return 0
