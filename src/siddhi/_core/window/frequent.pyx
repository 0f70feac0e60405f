"""``frequent`` and ``lossyFrequent``: the latest events of the most frequent keys, counted in bounded memory."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.math cimport ceil
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from siddhi._core.index.hash_index cimport MAX_WIDTH, KeyMap
from siddhi._core.record.event cimport BOOL, EXPIRED, FLOAT, INT, CellC, EventC, EventPool, release, retain
from siddhi._core.record.java cimport hash_of_key, table_size
from siddhi._core.record.prefetch cimport PREFETCH_MIN_SIZE, prefetch_line
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.lookup cimport FoundC, found_add
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.window.base cimport Window, state_of

# The hash table of the next size would overflow its bucket numbers.
cdef Py_ssize_t MOST_KEYS = (<Py_ssize_t> 3) << 29

cdef struct CountedC:
    EventC* event                  # latest event of the key
    int64_t count
    int64_t delta                  # lossyFrequent: maximum number of events missed before it was counted
    int64_t order                  # rank of the key by arrival

cdef struct FrequentStateC:
    PyObject* keys                 # KeyMap, owned
    CountedC* counted              # [capacity] by key id
    Py_ssize_t capacity
    Py_ssize_t most                # maximum number of keys so far
    int64_t total                  # number of events, including dropped ones
    int64_t arrivals               # number of keys that arrived


cdef struct GoneC:
    int64_t order                  # rank of the key by arrival
    EventC* event                  # latest event of the key
    uint32_t bucket                # bucket of the key's text in Java's HashMap
    uint32_t key_id

cdef enum:
    LOOKAHEAD = 12                     # events to prefetch ahead


cdef int in_order(const void* left, const void* right) noexcept nogil:
    cdef const GoneC* a = <const GoneC*> left
    cdef const GoneC* b = <const GoneC*> right
    if a.bucket != b.bucket:
        return 1 if a.bucket > b.bucket else -1
    return (a.order > b.order) - (a.order < b.order)


cdef class CountingWindow(Window):
    """Base class: the latest event and the count of each key.

    Args:
        positions: indexes of the key attributes in the window's records; empty: all events have one key.
    """

    cdef tuple positions
    cdef int key_positions[MAX_WIDTH]     # copy of `positions`
    cdef int width
    cdef GoneC* gone               # keys to remove, collected one by one
    cdef Py_ssize_t n_gone
    cdef Py_ssize_t room

    def __init__(self, AppContext app not None, EventPool pool not None, positions, bint stamps):
        Window.__init__(self, app, pool, stamps)
        self.positions = tuple(positions)
        if len(self.positions) > MAX_WIDTH:
            raise ValueError(f"the key of a window has at most {MAX_WIDTH} attributes, not {len(self.positions)}")
        self.width = <int> len(self.positions)
        for i, position in enumerate(self.positions):
            self.key_positions[i] = position
        self.setup(sizeof(FrequentStateC))

    cdef int open_state(self, void* address) except -1:
        cdef FrequentStateC* state = <FrequentStateC*> address
        keys = KeyMap([self.pool.layout.types[position] for position in self.positions] or [INT])
        Py_INCREF(keys)
        state.keys = <PyObject*> keys
        return 0

    cdef int collect_events(self, void* address, FoundC* found) except -1:
        cdef FrequentStateC* state = <FrequentStateC*> address
        cdef Py_ssize_t i
        for i in range(state.capacity):
            if state.counted[i].event is not NULL:
                found_add(found, state.counted[i].event)
        return 0

    cdef void close_state(self, void* address) noexcept:
        cdef FrequentStateC* state = <FrequentStateC*> address
        cdef Py_ssize_t i
        for i in range(state.capacity):
            if state.counted[i].event is not NULL:
                release(self.pool, state.counted[i].event)
        PyMem_Free(state.counted)
        state.counted = NULL
        state.capacity = 0
        Py_XDECREF(state.keys)
        state.keys = NULL

    cdef uint64_t read_key(self, EventC* event, CellC* key) noexcept:
        """Read the cells of an event's key; return its null bits."""
        cdef uint64_t nulls = 0
        cdef int i, position
        key[0].bits = 0
        for i in range(self.width):
            position = self.key_positions[i]
            key[i].bits = 0
            if event.body[position >> 6] & ((<uint64_t> 1) << (position & 63)):
                nulls |= (<uint64_t> 1) << i
            elif self.pool.layout.codes[position] in (INT, FLOAT, BOOL):
                key[i].i = (<CellC*> &event.body[self.pool.layout.words + position]).i
            else:
                key[i].bits = event.body[self.pool.layout.words + position]
        return nulls

    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1:
        cdef CellC key[MAX_WIDTH]
        cdef KeyMap keys = <KeyMap> (<FrequentStateC*> state_of(self)).keys
        cdef Py_ssize_t i
        cdef uint64_t nulls
        if keys.size >= PREFETCH_MIN_SIZE:
            for i in range(at[0], n):
                nulls = self.read_key(events[i], key)
                keys.prefetch(key, nulls)
        return Window.process_block(self, events, n, at)

    cdef CountedC* count(self, FrequentStateC* state, EventC* event, uint32_t* key_id, bint* is_new) except NULL:
        """Find or create the entry of the event's key. A new entry is zeroed except for its order."""
        cdef CellC key[MAX_WIDTH]
        cdef uint64_t nulls = self.read_key(event, key)
        cdef CountedC* entry
        key_id[0] = (<KeyMap> state.keys).insert(key, nulls, is_new)
        if is_new[0]:
            try:
                self.make_room(state, key_id[0])
            except:
                (<KeyMap> state.keys).remove(key_id[0])
                raise
        entry = &state.counted[key_id[0]]
        if is_new[0]:
            entry.order = state.arrivals
            state.arrivals += 1
        return entry

    cdef int make_room(self, FrequentStateC* state, uint32_t key_id) except -1:
        cdef CountedC* counted
        cdef Py_ssize_t capacity = max(16, 2 * state.capacity, <Py_ssize_t> key_id + 1)
        if key_id < state.capacity:
            return 0
        counted = <CountedC*> PyMem_Realloc(state.counted, capacity * sizeof(CountedC))
        if counted is NULL:
            raise MemoryError
        memset(counted + state.capacity, 0, (capacity - state.capacity) * sizeof(CountedC))
        state.counted = counted
        state.capacity = capacity
        return 0

    cdef int keep(self, CountedC* entry, EventC* event) except -1:
        """Make an event the latest of its key. The one before does not expire."""
        retain(self.pool, event)
        if entry.event is not NULL:
            release(self.pool, entry.event)
        entry.event = event
        return 0

    cdef int forget(self, FrequentStateC* state, uint32_t key_id) except -1:
        """Remove a key. The caller takes over the reference to its latest event."""
        memset(&state.counted[key_id], 0, sizeof(CountedC))
        return (<KeyMap> state.keys).remove(key_id)

    cdef int leave(self, FrequentStateC* state, uint32_t key_id) except -1:
        """Mark a key for removal by the next :meth:`expire_keys`. On failure no key is marked any more."""
        cdef GoneC* gone
        if self.n_gone == self.room:
            gone = <GoneC*> PyMem_Realloc(self.gone, max(16, 2 * self.room) * sizeof(GoneC))
            if gone is NULL:
                self.n_gone = 0
                raise MemoryError
            self.gone = gone
            self.room = max(16, 2 * self.room)
        self.gone[self.n_gone].key_id = key_id
        self.gone[self.n_gone].order = state.counted[key_id].order
        self.gone[self.n_gone].event = state.counted[key_id].event
        self.n_gone += 1
        return 0

    cdef EventC** prepare_expiry(self, FrequentStateC* state) except NULL:
        """Find the order in which the marked keys expire, and allocate an array of their events.

        The caller passes the array to :meth:`expire_keys`. On failure no key is marked any more."""
        cdef EventC** events = NULL
        try:
            self.order_gone(state, self.gone, self.n_gone)
            events = <EventC**> PyMem_Malloc(max(1, self.n_gone) * sizeof(EventC*))
            if events is NULL:
                raise MemoryError
        except:
            self.n_gone = 0
            raise
        return events

    cdef int expire_keys(self, FrequentStateC* state, EventC** events) except -1:
        """Remove the marked keys and expire their latest events, in the order of a Java HashMap of their texts.

        That order is scattered over memory. Removing keys and releasing records need not follow it: this goes by key
        id, in the order of arrival, so that later events find neighbouring memory.
        """
        cdef Py_ssize_t i, n = self.n_gone
        cdef GoneC* gone = self.gone
        cdef int64_t now = self.expiry_time()
        if n == 0:
            PyMem_Free(events)
            return 0
        # An expired event may send into this window again: from here on this call owns the arrays.
        self.gone, self.room, self.n_gone = NULL, 0, 0
        try:
            for i in range(n):
                events[i] = gone[i].event
            for i in range(n):
                (<KeyMap> state.keys).prefetch_key(gone[min(i + LOOKAHEAD, n - 1)].key_id)
                self.forget(state, gone[i].key_id)
            if n > 1:
                qsort(gone, n, sizeof(GoneC), in_order)
            try:
                for i in range(n):
                    prefetch_line(gone[min(i + LOOKAHEAD, n - 1)].event)
                    self.expire_kept(gone[i].event, now)
            finally:
                for i in range(n):
                    release(self.pool, events[i])
        finally:
            PyMem_Free(events)
            if self.gone is NULL:
                self.gone, self.room = gone, n
            else:
                PyMem_Free(gone)
        return 0

    cdef int order_gone(self, FrequentStateC* state, GoneC* gone, Py_ssize_t n) except -1:
        """Find the hash map bucket of each removed key."""
        cdef uint32_t mask
        cdef Py_ssize_t i
        if n > 1:
            mask = table_size(state.most) - 1
            for i in range(n):
                gone[i].bucket = mask & hash_of_key(gone[i].event, self.pool.layout, self.positions)
        return 0

    cdef int expire_kept(self, EventC* event, int64_t timestamp) except -1:
        """Emit an event as EXPIRED like :meth:`expire`; the caller releases the reference."""
        if event.refs > 1:
            retain(self.pool, event)
            return self.expire(event, timestamp)
        event.type = EXPIRED
        if self.stamps:
            event.timestamp = timestamp
        return self.next.process(event)

    cdef int write_state(self, void* address, SnapshotWriter writer) except -1:
        cdef FrequentStateC* state = <FrequentStateC*> address
        cdef KeyMap keys = <KeyMap> state.keys
        cdef uint32_t key_id
        keys.write(writer)
        for key_id in range(keys.id_bound()):
            if keys.is_live(key_id):
                writer.put_event(state.counted[key_id].event, self.pool.layout)
                writer.put_i64(state.counted[key_id].count)
                writer.put_i64(state.counted[key_id].delta)
                writer.put_i64(state.counted[key_id].order)
        writer.put_i64(state.most)
        writer.put_i64(state.total)
        return writer.put_i64(state.arrivals)

    cdef int read_state(self, void* address, SnapshotReader reader) except -1:
        cdef FrequentStateC* state = <FrequentStateC*> address
        cdef KeyMap keys = <KeyMap> state.keys
        cdef uint32_t key_id
        keys.read(reader)
        for key_id in range(keys.id_bound()):
            if keys.is_live(key_id):
                self.make_room(state, key_id)
                state.counted[key_id].event = reader.get_event(self.pool)
                state.counted[key_id].count = reader.get_i64()
                state.counted[key_id].delta = reader.get_i64()
                state.counted[key_id].order = reader.get_i64()
        state.most = reader.get_i64()
        if not keys.size <= state.most <= MOST_KEYS:
            raise ValueError(f"snapshot is damaged: a frequent window has counted {state.most} keys")
        state.total = reader.get_i64()
        state.arrivals = reader.get_i64()
        return 0


@cython.final
@cython.no_gc_clear
cdef class FrequentWindow(CountingWindow):
    """``frequent(n [, a])``: counts n keys (Misra and Gries).

    An event of a counted key passes and becomes its latest. An event of a new key passes while fewer than n keys are
    counted. Otherwise all counts are decremented and the latest event of each key that reaches zero expires. If that
    made room, the new event passes after them, else it is dropped. A count is decremented only as often as it was
    incremented, so the amortized cost of an event does not depend on n.

    Args:
        length: n.
        positions: see CountingWindow.
    """

    cdef Py_ssize_t length

    def __init__(self, AppContext app not None, EventPool pool not None, Py_ssize_t length, positions,
                 bint stamps=True):
        CountingWindow.__init__(self, app, pool, positions, stamps)
        self.length = length

    def __dealloc__(self):
        PyMem_Free(self.gone)
        self.close_all()

    cdef int process(self, EventC* event) except -1:
        cdef FrequentStateC* state = <FrequentStateC*> state_of(self)
        cdef KeyMap keys = <KeyMap> state.keys
        cdef uint32_t key_id = 0
        cdef bint is_new = False
        cdef CountedC* entry = self.count(state, event, &key_id, &is_new)
        if is_new and keys.size > self.length:
            # Its key must not be counted down.
            self.forget(state, key_id)
            if self.length <= 0 or not self.count_down(state):
                return 0
            entry = self.count(state, event, &key_id, &is_new)
        entry.count += 1
        self.keep(entry, event)
        if keys.size > state.most:
            state.most = keys.size
        return self.next.process(event)

    cdef bint count_down(self, FrequentStateC* state) except -1:
        """Decrement the count of every key; return whether keys were removed."""
        cdef KeyMap keys = <KeyMap> state.keys
        cdef uint32_t key_id
        cdef EventC** events
        cdef bint any_gone
        for key_id in range(keys.id_bound()):
            if keys.is_live(key_id) and state.counted[key_id].count == 1:
                self.leave(state, key_id)
        events = self.prepare_expiry(state)
        any_gone = self.n_gone > 0
        for key_id in range(keys.id_bound()):
            if keys.is_live(key_id):
                state.counted[key_id].count -= 1
        self.expire_keys(state, events)
        return any_gone


@cython.final
@cython.no_gc_clear
cdef class LossyFrequentWindow(CountingWindow):
    """``lossyFrequent(support [, error [, a]])``: passes an event if its key's share of all events is large enough.

    Every event counts its key. It passes if that count is at least (support - error) of all events. The stream is cut
    into buckets of ceil(1 / error) events. A key stores the number of complete buckets at its first event as `delta`.
    After every bucket, keys whose count plus delta is at most the number of buckets are removed. Their latest event
    expires, whether or not it had passed.

    Args:
        support, error: shares between 0 and 1.
        positions: see CountingWindow.
    """

    cdef double support
    cdef double error
    cdef int64_t width             # number of events of a bucket

    def __init__(self, AppContext app not None, EventPool pool not None, double support, double error, positions,
                 bint stamps=True):
        CountingWindow.__init__(self, app, pool, positions, stamps)
        if not 0 < error < 1:
            raise ValueError(f"invalid error {error} for lossyFrequent: expected a number between 0 and 1")
        self.support = support
        self.error = error
        self.width = <int64_t> ceil(1 / error)

    def __dealloc__(self):
        PyMem_Free(self.gone)
        self.close_all()

    cdef int process(self, EventC* event) except -1:
        cdef FrequentStateC* state = <FrequentStateC*> state_of(self)
        cdef KeyMap keys = <KeyMap> state.keys
        cdef uint32_t key_id = 0
        cdef bint is_new = False
        cdef CountedC* entry = self.count(state, event, &key_id, &is_new)
        cdef int64_t bucket
        state.total += 1
        bucket = (state.total + self.width - 1) // self.width
        if is_new:
            entry.delta = bucket - 1
            if keys.size > state.most:
                state.most = keys.size
        entry.count += 1
        self.keep(entry, event)
        if entry.count >= (self.support - self.error) * state.total:
            self.next.process(event)
        if state.total % self.width == 0:
            self.prune(state, bucket)
        return 0

    cdef int prune(self, FrequentStateC* state, int64_t bucket) except -1:
        cdef KeyMap keys = <KeyMap> state.keys
        cdef uint32_t key_id
        for key_id in range(keys.id_bound()):
            if keys.is_live(key_id) and state.counted[key_id].count + state.counted[key_id].delta <= bucket:
                self.leave(state, key_id)
        return self.expire_keys(state, self.prepare_expiry(state))
