"""``unique:ever``, ``unique:first``, ``unique:length`` and ``unique:time``: one event of each key."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.expression.executor cimport Executor
from siddhi._core.index.hash_index cimport MAX_WIDTH, NO_ID, KeyMap
from siddhi._core.record.event cimport BOOL, CellC, EventC, EventPool, release, retain
from siddhi._core.record.frame cimport NULL_VALUE, now_ms
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.lookup cimport FoundC, found_add
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.window.base cimport Window, state_of

cdef struct UniqueC:
    EventC* event                  # kept event of the key
    int64_t time                   # the clock when it arrived
    uint32_t before                # neighbours in order of arrival, NO_ID: none
    uint32_t after

cdef struct UniqueStateC:
    PyObject* keys                 # KeyMap, owned
    UniqueC* kept                  # [capacity] by key id
    Py_ssize_t capacity
    uint32_t oldest
    uint32_t latest
    int64_t due                    # due time of the pending timer, ms; 0: none


cdef inline void append(UniqueStateC* state, uint32_t key_id) noexcept:
    """Make the event of a key the latest."""
    state.kept[key_id].before = state.latest
    state.kept[key_id].after = NO_ID
    if state.latest == NO_ID:
        state.oldest = key_id
    else:
        state.kept[state.latest].after = key_id
    state.latest = key_id


cdef inline void unlink(UniqueStateC* state, uint32_t key_id) noexcept:
    cdef UniqueC* entry = &state.kept[key_id]
    if entry.before == NO_ID:
        state.oldest = entry.after
    else:
        state.kept[entry.before].after = entry.after
    if entry.after == NO_ID:
        state.latest = entry.before
    else:
        state.kept[entry.after].before = entry.before


@cython.final
@cython.no_gc_clear
cdef class UniqueWindow(Window):
    """Keeps the latest event of each key, or the first one. The event that a newer one replaces expires before it passes.

    Args:
        keys: executors of the parts of the key.
        keeps_first: later events of a key are dropped.
        length: the oldest key leaves when there are more; 0: no limit.
        duration_ms: an event expires at this age; 0: at none.
    """

    cdef tuple keys
    cdef int width
    cdef bint keeps_first
    cdef Py_ssize_t length
    cdef int64_t duration

    def __init__(self, AppContext app not None, EventPool pool not None, tuple keys not None, bint keeps_first,
                 Py_ssize_t length, int64_t duration_ms, bint stamps=True):
        Window.__init__(self, app, pool, stamps)
        if len(keys) > MAX_WIDTH:
            raise ValueError(f"the key of a window has at most {MAX_WIDTH} parts, not {len(keys)}")
        self.keys = keys
        self.width = <int> len(keys)
        self.keeps_first = keeps_first
        self.length = length
        self.duration = duration_ms
        self.setup(sizeof(UniqueStateC))

    def __dealloc__(self):
        self.close_all()

    cdef int open_state(self, void* address) except -1:
        cdef UniqueStateC* state = <UniqueStateC*> address
        cdef Executor part
        state.oldest = state.latest = NO_ID
        keys = KeyMap([part.type for part in self.keys])
        Py_INCREF(keys)
        state.keys = <PyObject*> keys
        return 0

    cdef void close_state(self, void* address) noexcept:
        cdef UniqueStateC* state = <UniqueStateC*> address
        cdef uint32_t key_id = state.oldest
        # A state whose opening failed has no entries.
        while state.kept is not NULL and key_id != NO_ID:
            release(self.pool, state.kept[key_id].event)
            key_id = state.kept[key_id].after
        PyMem_Free(state.kept)
        state.kept = NULL
        Py_XDECREF(state.keys)
        state.keys = NULL

    cdef int make_room(self, UniqueStateC* state, uint32_t key_id) except -1:
        cdef Py_ssize_t capacity = max(16, 2 * state.capacity, <Py_ssize_t> key_id + 1)
        cdef UniqueC* kept
        if key_id < state.capacity:
            return 0
        kept = <UniqueC*> PyMem_Realloc(state.kept, capacity * sizeof(UniqueC))
        if kept is NULL:
            raise MemoryError
        state.kept = kept
        state.capacity = capacity
        return 0

    cdef EventC* take(self, UniqueStateC* state, uint32_t key_id) except NULL:
        """Remove a key; the caller owns its event."""
        cdef EventC* event = state.kept[key_id].event
        (<KeyMap> state.keys).remove(key_id)
        unlink(state, key_id)
        return event

    cdef bint admit(self, EventC* event) except -1:
        """Keep an event, after what it replaces has expired; return whether it passes."""
        cdef CellC key[MAX_WIDTH]
        cdef UniqueStateC* state
        cdef Executor part
        cdef EventC* older = NULL
        cdef uint64_t nulls = 0
        cdef uint32_t key_id
        cdef bint is_new = False
        cdef int64_t now = now_ms(&self.app.frame)
        cdef int i, status
        if self.duration:
            # First: events that expire may be sent into this window, which evaluates the key of others.
            self.expire_due(<UniqueStateC*> state_of(self), now)
        for i in range(self.width):
            part = <Executor> self.keys[i]
            key[i].bits = 0
            status = part.c.fn(&part.c, event, &self.app.frame, &key[i])
            if status == NULL_VALUE:
                nulls |= (<uint64_t> 1) << i
            elif part.type == BOOL:
                key[i].i = status
        state = <UniqueStateC*> state_of(self)
        key_id = (<KeyMap> state.keys).insert(key, nulls, &is_new)
        if is_new:
            try:
                self.make_room(state, key_id)
            except:
                (<KeyMap> state.keys).remove(key_id)
                raise
            if self.length and (<KeyMap> state.keys).size > self.length:
                older = self.take(state, state.oldest)
        elif self.keeps_first:
            return False
        else:
            older = state.kept[key_id].event
            unlink(state, key_id)
        retain(self.pool, event)
        state.kept[key_id].event = event
        state.kept[key_id].time = now
        append(state, key_id)
        if self.duration:
            self.plan_expiry(state)
        if older is not NULL:
            self.expire(older, now)
        return True

    cdef int expire_due(self, UniqueStateC* state, int64_t now) except -1:
        while state.oldest != NO_ID and state.kept[state.oldest].time + self.duration <= now:
            self.expire(self.take(state, state.oldest), now)
        return 0

    cdef int plan_expiry(self, UniqueStateC* state) except -1:
        """Schedule the timer of the oldest event, unless one is pending."""
        if state.oldest != NO_ID and state.due == 0:
            state.due = state.kept[state.oldest].time + self.duration
            self.app.schedule(self, state.due, self.app.frame.partition)
        return 0

    cdef int process(self, EventC* event) except -1:
        return self.next.process(event) if self.admit(event) else 0

    cdef int process_one(self, EventC* event) except -1:
        return self.next.process_one(event) if self.admit(event) else self.next.finish()

    cdef int on_timer(self, int64_t when) except -1:
        cdef UniqueStateC* state
        if self.app.frame.partition >= self.capacity:
            return 0
        state = <UniqueStateC*> state_of(self)
        if state is NULL or state.due != when:
            return 0  # of a removed key, whose partition id may be reused
        state.due = 0
        try:
            self.expire_due(state, now_ms(&self.app.frame))
        finally:
            self.plan_expiry(state)
        return self.next.finish()

    cdef int collect_events(self, void* address, FoundC* found) except -1:
        cdef UniqueStateC* state = <UniqueStateC*> address
        cdef uint32_t key_id = state.oldest
        while key_id != NO_ID:
            found_add(found, state.kept[key_id].event)
            key_id = state.kept[key_id].after
        return 0

    cdef int write_state(self, void* address, SnapshotWriter writer) except -1:
        cdef UniqueStateC* state = <UniqueStateC*> address
        cdef uint32_t key_id = state.oldest
        (<KeyMap> state.keys).write(writer)
        while key_id != NO_ID:
            writer.put_u32(key_id)
            writer.put_time(state.kept[key_id].time)
            writer.put_event(state.kept[key_id].event, self.pool.layout)
            key_id = state.kept[key_id].after
        return 0

    cdef int read_state(self, void* address, SnapshotReader reader) except -1:
        cdef UniqueStateC* state = <UniqueStateC*> address
        cdef KeyMap keys = <KeyMap> state.keys
        cdef uint32_t key_id
        cdef set missing
        keys.read(reader)
        missing = {key_id for key_id in range(keys.id_bound()) if keys.is_live(key_id)}
        for _ in range(keys.size):  # no-cython-lint
            key_id = reader.get_u32()
            if key_id not in missing:
                raise ValueError(f"snapshot is damaged: a unique window has an event of an unknown key ({key_id})")
            missing.discard(key_id)
            self.make_room(state, key_id)
            state.kept[key_id].time = reader.get_time()
            state.kept[key_id].event = reader.get_event(self.pool)
            append(state, key_id)
        if self.duration:
            self.plan_expiry(state)
        return 0
