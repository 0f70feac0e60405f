"""Windows written in Python: a user's class decides which events pass, which are buffered and which expire."""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t

from siddhi._core.python.operators cimport PythonKey, PythonStep
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.runtime.lookup cimport FoundC
from siddhi._core.runtime.operator cimport BlockTraits, refuse_blocks
from siddhi._core.runtime.ring cimport ring_show
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.window.base cimport Window, state_of

cdef struct PythonStateC:
    PyObject* key                  # PythonKey, borrowed from the window's `keys`


@cython.no_gc_clear
cdef class PythonWindow(Window):
    """Window that runs a user's class.

    Args:
        host: calls the objects of the class.
        pool: event pool of the buffered records.
        batch: the output of one call is a chunk of its own.
        searchable: the class has ``events()``.
    """

    cdef PythonStep host
    cdef dict keys                 # by partition id; owned here, so that the garbage collector sees all keys
    cdef bint batch
    cdef bint searchable

    def __init__(self, PythonStep host not None, EventPool pool not None, bint batch, bint searchable):
        Window.__init__(self, host.app, pool, True)
        self.host = host
        self.keys = {}
        self.batch = batch
        self.searchable = searchable
        self.setup(sizeof(PythonStateC))

    def __dealloc__(self):
        self.close_all()

    cdef PythonKey current_key(self):
        return <PythonKey> (<PythonStateC*> state_of(self)).key

    cdef int process(self, EventC* event) except -1:
        if self.host.offer(self.current_key(), event, self.next) and self.batch:
            return self.next.finish()
        return 0

    cdef int finish(self) except -1:
        cdef bint any_left = self.host.end_chunk(self.current_key(), self.next)
        return self.next.finish() if any_left or not self.batch else 0

    cdef int on_timer(self, int64_t when) except -1:
        cdef PythonStateC* state
        if self.app.frame.partition >= self.capacity:
            return 0
        state = <PythonStateC*> state_of(self)
        if state is not NULL and self.host.wake(<PythonKey> state.key, when, self.next):
            return self.next.finish()
        return 0

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        refuse_blocks(traits)      # side effects of user code must not be batched
        return 0

    cdef int ensure(self, unsigned int partition) except -1:
        cdef PythonStateC* state
        cdef PythonKey key
        Window.ensure(self, partition)
        state = <PythonStateC*> self.states[partition]
        if state.key is NULL:
            key = self.host.key(self, partition)
            self.keys[partition] = key
            state.key = <PyObject*> key
        return 0

    cdef int renew(self, unsigned int partition) except -1:
        cdef PythonKey key = self.host.key(self, partition)
        Window.renew(self, partition)
        self.keys[partition] = key
        (<PythonStateC*> self.states[partition]).key = <PyObject*> key
        return 0

    cdef int drop(self, unsigned int partition) except -1:
        Window.drop(self, partition)
        key = self.keys.pop(partition, None)
        if key is not None:
            (<PythonKey> key).context.dropped = True
        return 0

    cdef int collect_events(self, void* address, FoundC* found) except -1:
        cdef PythonStateC* state = <PythonStateC*> address
        if not self.searchable:
            raise TypeError(f"{self.host.what} cannot be searched")
        if found is NULL or state.key is NULL:
            return 0
        key = <PythonKey> state.key
        self.host.show_content(key)
        return ring_show(&key.shown, found)

    cdef int write_state(self, void* state, SnapshotWriter writer) except -1:
        return self.host.write_key(<PythonKey> (<PythonStateC*> state).key, writer)

    cdef int read_state(self, void* state, SnapshotReader reader) except -1:
        return self.host.read_key(<PythonKey> (<PythonStateC*> state).key, reader)
