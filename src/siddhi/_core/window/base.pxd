# Base class of the windows: one state per partition id, and the emission of expired events.
#
# A window implements process_one(), the four functions of its state (open_state, close_state, write_state, read_state) and
# collect_events(). Its __init__ calls setup() with the size of the state, its __dealloc__ calls close_all(). length.pyx is
# the shortest example; process_block() is optional, for speed.

from libc.stdint cimport int64_t

from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.runtime.lookup cimport FoundC
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef class Window(Processor):
    cdef readonly EventPool pool
    cdef bint stamps                   # expiry times are visible: stamp expired events with the clock
    cdef void** states                 # [capacity] by partition id; NULL: none
    cdef unsigned int capacity
    cdef Py_ssize_t state_bytes
    cdef int setup(self, Py_ssize_t state_bytes) except -1
    cdef void* new_state(self) except NULL
    cdef int renew(self, unsigned int partition) except -1
    cdef int expire(self, EventC* event, int64_t timestamp) except -1      # consumes the reference
    cdef int open_state(self, void* state) except -1
    cdef void close_state(self, void* state) noexcept
    cdef int write_state(self, void* state, SnapshotWriter writer) except -1
    cdef int read_state(self, void* state, SnapshotReader reader) except -1
    # Append the events that joins and queries find in the window, in order. NULL notifies batch windows that their events
    # are searched; they return whether they have events that the index of a join does not contain yet (events without
    # a number).
    cdef int collect_events(self, void* state, FoundC* found) except -1
    cdef void close_all(self) noexcept
    cdef int64_t expiry_time(self) noexcept

cdef inline void* state_of(Window window) noexcept:
    """Return the state of the current partition, which was created with its key."""
    return window.states[window.app.frame.partition]
