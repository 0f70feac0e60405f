# Base of the windows: one state per partition id, and the ways events leave.

from libc.stdint cimport int64_t

from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.runtime.lookup cimport FoundC
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef class Window(Processor):
    cdef readonly EventPool pool
    cdef bint stamps                   # somebody can see when events expired: stamp them with the clock
    cdef void** states                 # [capacity] by partition id; NULL: none
    cdef unsigned int capacity
    cdef Py_ssize_t state_bytes
    cdef int setup(self, Py_ssize_t state_bytes) except -1
    cdef int expire(self, EventC* event, int64_t timestamp) except -1      # takes over the event
    cdef int open_state(self, void* state) except -1
    cdef void close_state(self, void* state) noexcept
    cdef int write_state(self, void* state, SnapshotWriter writer) except -1
    cdef int read_state(self, void* state, SnapshotReader reader) except -1
    # Adds what joins and queries find in it, in order. Batch windows are told with NULL that somebody looks; they answer
    # whether they hold events that the index of a join has not been sent (those have no number).
    cdef int collect_events(self, void* state, FoundC* found) except -1
    cdef void close_all(self) noexcept
    cdef int64_t expiry_time(self) noexcept

cdef inline void* state_of(Window window) noexcept:
    """State of the current partition; the partition made it when it met the key."""
    return window.states[window.app.frame.partition]
