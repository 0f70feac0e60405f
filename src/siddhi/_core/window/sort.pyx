"""``sort(n, a, 'asc', b, 'desc', ...)``: the first n events of an order."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memmove

from siddhi._core.record.event cimport BOOL, FLOAT, INT, LONG, OBJECT, STRING, CellC, EventC, EventPool, release, retain
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.lookup cimport FoundC, found_add
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.window.base cimport Window, state_of

cdef extern from "Python.h":
    int PyUnicode_Compare(PyObject* left, PyObject* right) except? -1

cdef struct SortKeyC:
    int cell
    int word
    uint64_t bit
    int code
    bint descending

cdef struct RankedEventC:
    uint64_t prefix                # prefix of the sort key: decides without reading the events unless equal
    EventC* event
    uint64_t order                 # of arrival: among equals the later one is last

cdef struct SortStateC:
    RankedEventC* heap                   # [capacity] max-heap: the last event in order is the root
    Py_ssize_t size
    Py_ssize_t capacity
    uint64_t arrivals
    bint sorted                    # the heap is in descending order,
    int insertions                 # and this many arrivals may keep it so until it is searched again

cdef enum:
    LAST = 0xffffffffffffffff      # prefix of nulls
    INSERTIONS = 8                 # per search: a few insertions between searches cost less than sorting again


cdef inline int compare_whole(int64_t a, int64_t b) noexcept:
    return (a > b) - (a < b)


cdef inline int compare_real(double a, double b) noexcept:
    """Compare in a total order: NaN is greater than every number and equal to itself."""
    if a == b:
        return 0
    if a < b:
        return -1
    if a > b:
        return 1
    return (a != a) - (b != b)


cdef inline uint64_t rank_of_whole(int64_t value) noexcept:
    return <uint64_t> value ^ <uint64_t> 1 << 63


cdef inline uint64_t rank_of_real(double value) noexcept:
    """Return a rank in the order of compare_real: zeros are equal, NaN follows all numbers."""
    cdef CellC cell
    if value != value:
        return LAST
    cell.d = value + 0.0           # -0.0 becomes 0.0
    return ~cell.bits if cell.bits >> 63 else cell.bits | <uint64_t> 1 << 63


@cython.final
@cython.no_gc_clear
cdef class SortWindow(Window):
    """Keeps the first n events in order: every event passes, then the last of more than n events expires, perhaps the
    new one.

    Nulls are last in both directions. The events are a max-heap: an arrival costs O(log n).

    Args:
        length: n.
        positions: indexes of the sort attributes in the window's records, most significant first.
        descending: one bool per attribute.
    """

    cdef Py_ssize_t length
    cdef SortKeyC* keys
    cdef int n_keys

    def __init__(self, AppContext app not None, EventPool pool not None, Py_ssize_t length, positions, descending,
                 bint stamps=True):
        cdef int i, position
        Window.__init__(self, app, pool, stamps)
        self.length = length
        self.n_keys = len(positions)
        self.keys = <SortKeyC*> PyMem_Malloc(max(1, self.n_keys) * sizeof(SortKeyC))
        if self.keys is NULL:
            raise MemoryError
        for i in range(self.n_keys):
            position = positions[i]
            self.keys[i].cell = pool.layout.cell(position)
            self.keys[i].word = pool.layout.null_word(position)
            self.keys[i].bit = (<uint64_t> 1) << (position & 63)
            self.keys[i].code = pool.layout.codes[position]
            self.keys[i].descending = descending[i]
            if self.keys[i].code in (BOOL, OBJECT):
                raise TypeError(f"cannot sort by '{pool.layout.names[position]}': bool and object have no order")
        self.setup(sizeof(SortStateC))

    def __dealloc__(self):
        self.close_all()
        PyMem_Free(self.keys)

    cdef int compare(self, const RankedEventC* a, const RankedEventC* b) except -2:
        """Return -1, 0 or 1: a comes before, is equal to, or comes after b."""
        cdef int i, answer
        cdef SortKeyC* key
        cdef bint a_is_null, b_is_null
        cdef const CellC* x
        cdef const CellC* y
        if a.prefix != b.prefix:
            return 1 if a.prefix > b.prefix else -1
        for i in range(self.n_keys):
            key = &self.keys[i]
            a_is_null = (a.event.body[key.word] & key.bit) != 0
            b_is_null = (b.event.body[key.word] & key.bit) != 0
            if a_is_null or b_is_null:
                if a_is_null != b_is_null:
                    return 1 if a_is_null else -1
                continue
            x = <const CellC*> &a.event.body[key.cell]
            y = <const CellC*> &b.event.body[key.cell]
            if key.code == STRING:
                answer = PyUnicode_Compare(<PyObject*> x.o, <PyObject*> y.o)
            elif key.code == INT:
                answer = compare_whole(x.i, y.i)
            elif key.code == LONG:
                answer = compare_whole(x.l, y.l)
            elif key.code == FLOAT:
                answer = compare_real(x.f, y.f)
            else:
                answer = compare_real(x.d, y.d)
            if answer != 0:
                return -answer if key.descending else answer
        return (a.order > b.order) - (a.order < b.order)

    cdef uint64_t prefix_of(self, const EventC* event) noexcept:
        """Return a number that is monotonic in the sort order; strings share one, nulls share one."""
        cdef SortKeyC* key = &self.keys[0]
        cdef const CellC* value
        cdef uint64_t rank
        if self.n_keys == 0:
            return 0
        value = <const CellC*> &event.body[key.cell]
        if event.body[key.word] & key.bit:
            return LAST
        if key.code == STRING:
            return 0
        if key.code == INT:
            rank = rank_of_whole(value.i)
        elif key.code == LONG:
            rank = rank_of_whole(value.l)
        elif key.code == FLOAT:
            rank = rank_of_real(value.f)
        else:
            rank = rank_of_real(value.d)
        return ~rank if key.descending else rank

    cdef int make_room(self, SortStateC* state) except -1:
        cdef Py_ssize_t capacity = max(16, 2 * state.capacity)
        cdef RankedEventC* heap
        if state.size < state.capacity:
            return 0
        heap = <RankedEventC*> PyMem_Realloc(state.heap, capacity * sizeof(RankedEventC))
        if heap is NULL:
            raise MemoryError
        state.heap = heap
        state.capacity = capacity
        return 0

    cdef int push(self, SortStateC* state, RankedEventC entry) except -1:
        """Insert an entry into the heap, which must have room. Consumes the reference."""
        cdef Py_ssize_t i = state.size, parent
        state.sorted = False
        state.heap[i] = entry
        state.size += 1
        while i > 0:
            parent = (i - 1) // 2
            if self.compare(&entry, &state.heap[parent]) <= 0:
                break
            state.heap[i] = state.heap[parent]
            state.heap[parent] = entry
            i = parent
        return 0

    cdef int replace_root(self, RankedEventC* heap, Py_ssize_t size, RankedEventC entry) except -1:
        """Replace the root by an entry. The caller takes over the root's reference."""
        cdef Py_ssize_t i = 0, child
        heap[0] = entry
        while True:
            child = 2 * i + 1
            if child >= size:
                return 0
            if child + 1 < size and self.compare(&heap[child + 1], &heap[child]) > 0:
                child += 1
            if self.compare(&heap[child], &entry) <= 0:
                return 0
            heap[i] = heap[child]
            heap[child] = entry
            i = child

    cdef int sort(self, SortStateC* state) except -1:
        """Sort the heap in descending order, which keeps it a heap."""
        cdef Py_ssize_t i, n = state.size
        cdef RankedEventC last
        if state.sorted:
            return 0
        for i in range(n - 1, 0, -1):
            last = state.heap[i]
            state.heap[i] = state.heap[0]
            self.replace_root(state.heap, i, last)
        for i in range(n // 2):
            last = state.heap[i]
            state.heap[i] = state.heap[n - 1 - i]
            state.heap[n - 1 - i] = last
        state.sorted = True
        return 0

    cdef int insert(self, SortStateC* state, RankedEventC entry, bint replace) except -1:
        """Insert an entry into the descending order; with `replace` the first entry is removed."""
        cdef Py_ssize_t low = 0, high = state.size, middle
        cdef RankedEventC* heap = state.heap
        while low < high:
            middle = (low + high) // 2
            if self.compare(&heap[middle], &entry) > 0:
                low = middle + 1
            else:
                high = middle
        if replace:
            low -= 1
            memmove(heap, heap + 1, low * sizeof(RankedEventC))
        else:
            memmove(heap + low + 1, heap + low, (state.size - low) * sizeof(RankedEventC))
            state.size += 1
        heap[low] = entry
        state.insertions -= 1
        return 0

    cdef int collect_events(self, void* address, FoundC* found) except -1:
        cdef SortStateC* state = <SortStateC*> address
        cdef Py_ssize_t i
        self.sort(state)
        state.insertions = INSERTIONS
        for i in range(state.size - 1, -1, -1):
            found_add(found, state.heap[i].event)
        return 0

    cdef int admit(self, EventC* event) except -1:
        """Hold the event; expire the last one if there are too many."""
        cdef SortStateC* state = <SortStateC*> state_of(self)
        cdef RankedEventC entry
        cdef EventC* last = event
        cdef bint keep_sorted = state.sorted and state.insertions > 0
        entry.prefix = self.prefix_of(event)
        entry.event = event
        entry.order = state.arrivals
        state.arrivals += 1
        if state.size < self.length:
            self.make_room(state)
            retain(self.pool, event)
            return self.insert(state, entry, False) if keep_sorted else self.push(state, entry)
        retain(self.pool, event)
        if state.size and self.compare(&entry, &state.heap[0]) < 0:
            last = state.heap[0].event
            if keep_sorted:
                self.insert(state, entry, True)
            else:
                state.sorted = False
                self.replace_root(state.heap, state.size, entry)
        return self.expire(last, self.expiry_time())

    cdef int process(self, EventC* event) except -1:
        self.next.process(event)
        return self.admit(event)

    cdef void close_state(self, void* address) noexcept:
        cdef SortStateC* state = <SortStateC*> address
        while state.size:
            state.size -= 1
            release(self.pool, state.heap[state.size].event)
        PyMem_Free(state.heap)
        state.heap = NULL
        state.capacity = 0

    cdef int write_state(self, void* address, SnapshotWriter writer) except -1:
        # In heap order: it is a heap again after reading.
        cdef SortStateC* state = <SortStateC*> address
        cdef Py_ssize_t i
        cdef EventC** events = <EventC**> PyMem_Malloc(max(1, state.size) * sizeof(EventC*))
        if events is NULL:
            raise MemoryError
        try:
            for i in range(state.size):
                events[i] = state.heap[i].event
            writer.put_events(events, state.size, self.pool.layout)
        finally:
            PyMem_Free(events)
        for i in range(state.size):
            writer.put_i64(<int64_t> state.heap[i].order)
        return writer.put_i64(<int64_t> state.arrivals)

    cdef int read_state(self, void* address, SnapshotReader reader) except -1:
        cdef SortStateC* state = <SortStateC*> address
        cdef EventC** events = NULL
        cdef Py_ssize_t i = 0, n = reader.get_events(self.pool, &events)
        try:
            while i < n:
                self.make_room(state)
                state.heap[i].prefix = self.prefix_of(events[i])
                state.heap[i].event = events[i]
                state.size += 1
                i += 1
        finally:
            while i < n:
                release(self.pool, events[i])
                i += 1
            PyMem_Free(events)
        for i in range(n):
            state.heap[i].order = <uint64_t> reader.get_i64()
        state.arrivals = <uint64_t> reader.get_i64()
        return 0
