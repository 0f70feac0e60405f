"""Lifetimes, heaps of edges, and the base of the temporal operators."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.string cimport memcpy, memmove, memset

from siddhi._core.record.arena cimport advise_large, allocate_arena, enlarge, free_arena, next_arena_size
from sys import exc_info

from siddhi._core.record.event cimport EventC, EventPool, acquire as acquire_event, event_to_tuple, release, retain
from siddhi._core.record.user_event cimport make_event
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi.errors import LimitExceededError


@cython.final
@cython.no_gc_clear
cdef class LifetimePool:
    """The lifetimes of one app."""

    def __cinit__(self):
        self.pools = ()
        self.most = -1

    def __dealloc__(self):
        cdef uint32_t i
        for i in range(self.used):
            if self.lifetimes[i] is not NULL:
                release(<EventPool> self.lifetimes[i].pool, self.lifetimes[i].row)
        while self.n_arenas:
            self.n_arenas -= 1
            free_arena(self.arenas[self.n_arenas])
        PyMem_Free(self.arenas)
        PyMem_Free(self.lifetimes)
        PyMem_Free(self.free)
        PyMem_Free(self.numbers)

    cpdef int keep(self, EventPool pool) except -1:
        """Keep a pool of rows as long as the lifetimes."""
        if not any([known is pool for known in self.pools]):
            self.pools += (pool,)
        return 0

    cdef LifetimeC* acquire(self, EventPool pool, EventC* row, int64_t start, int64_t end) except NULL:
        cdef LifetimeC* lifetime
        cdef uint32_t capacity
        cdef void* larger
        if self.most >= 0:
            self.require_room()
        if self.n_free == 0 and self.used == self.capacity:
            capacity = max(<uint32_t> 64, 2 * self.capacity)
            larger = enlarge(self.lifetimes, self.capacity * sizeof(LifetimeC*), capacity * sizeof(LifetimeC*))
            if larger is NULL:
                raise MemoryError
            self.lifetimes = <LifetimeC**> larger
            larger = enlarge(self.free, self.capacity * sizeof(uint32_t), capacity * sizeof(uint32_t))
            if larger is NULL:
                raise MemoryError
            self.free = <uint32_t*> larger
            self.capacity = capacity
        if self.spare is NULL:
            self.grow()
        lifetime = self.spare
        self.spare = <LifetimeC*> lifetime.row
        if self.n_free:
            self.n_free -= 1
            lifetime.index = self.free[self.n_free]
        else:
            lifetime.index = self.used
            self.used += 1
        self.lifetimes[lifetime.index] = lifetime
        self.alive += 1
        retain(pool, row)
        lifetime.start = lifetime.given = start
        lifetime.end = end
        lifetime.row = row
        lifetime.pool = <void*> pool
        lifetime.refs = 1
        lifetime.flags = 0
        return lifetime

    cdef void recycle(self, LifetimeC* lifetime) noexcept:
        release(<EventPool> lifetime.pool, lifetime.row)
        self.lifetimes[lifetime.index] = NULL
        self.free[self.n_free] = lifetime.index
        self.n_free += 1
        self.alive -= 1
        lifetime.row = <EventC*> self.spare
        self.spare = lifetime

    cdef int grow(self) except -1:
        """Allocate spare lifetimes."""
        cdef Py_ssize_t n = next_arena_size(max(<Py_ssize_t> 16, self.arena_size), sizeof(LifetimeC)), i
        cdef void** larger = <void**> PyMem_Realloc(self.arenas, (self.n_arenas + 1) * sizeof(void*))
        cdef LifetimeC* made
        if larger is NULL:
            raise MemoryError
        self.arenas = larger
        made = <LifetimeC*> allocate_arena(n * sizeof(LifetimeC))
        if made is NULL:
            raise MemoryError
        self.arenas[self.n_arenas] = made
        self.n_arenas += 1
        self.arena_size = n
        for i in range(n - 1, -1, -1):
            made[i].row = <EventC*> self.spare
            self.spare = &made[i]
        return 0

    # --- limits

    def limit(self, Py_ssize_t most, str full not None):
        """Allow so many lifetimes and matches together; `full` is the error of an event that needs more."""
        self.most = most
        self.full = full

    cdef int require_room(self) except -1:
        if self.most >= 0 and self.alive + self.matches >= self.most:
            raise LimitExceededError(self.full)
        return 0

    # --- snapshots

    def save(self, SnapshotWriter writer not None):
        """Write the lifetimes, and number them for the operators that are written next."""
        self.write(writer)

    def load(self, SnapshotReader reader not None):
        """Replace the lifetimes; every operator has been cleared. settle() follows when the operators have been read."""
        self.read(reader)

    def settle(self):
        """Free the lifetimes of a snapshot that no operator holds."""
        self.release_restored()

    cdef int write(self, SnapshotWriter writer) except -1:
        return write_lifetimes(self, writer)

    cdef int read(self, SnapshotReader reader) except -1:
        return read_lifetimes(self, reader)

    cdef void release_restored(self) noexcept:
        cdef uint32_t i, n = self.n_restored
        self.n_restored = 0
        for i in range(n):
            if self.lifetimes[i] is not NULL:
                release_lifetime(self, self.lifetimes[i])


include "edges.pxi"


cdef void* grow_by_index(void* items, uint32_t* capacity, uint32_t index, size_t width) except NULL:
    """Return an array with an entry for the index; new entries are zeros."""
    cdef uint32_t larger
    cdef void* grown
    if index < capacity[0]:
        return items
    larger = max(<uint32_t> 64, max(index + 1, 2 * capacity[0]))
    grown = enlarge(items, capacity[0] * width, larger * width)
    if grown is NULL:
        raise MemoryError
    memset(<char*> grown + capacity[0] * width, 0, (larger - capacity[0]) * width)
    capacity[0] = larger
    return grown


include "snapshot.pxi"


# --- operators

wiring.changes = 0

cdef list PLACED = []


cdef class WiringPatches(Patches):
    """Base of what stands between operators for a while."""

    cdef void note(self, bint placed) noexcept:
        """Note that they were placed, or taken away."""
        self.placed = placed
        try:
            if placed:
                PLACED.append(self)
            else:
                PLACED.remove(self)
        except (MemoryError, ValueError):
            pass


cdef int rewire() except -1:
    """Take all patches away: operators are about to be connected in another way."""
    cdef WiringPatches patches
    wiring.changes += 1
    for patches in list(PLACED):
        patches.take_away()
    return 0


@cython.no_gc_clear
cdef class TemporalOperator:
    """Base of the temporal operators.

    Args:
        app: context of the app.
        lifetimes: allocates the lifetimes.
        n_inputs: number of inputs.
    """

    def __init__(self, AppContext app not None, LifetimePool lifetimes not None, int n_inputs=1):
        cdef int i
        self.app = app
        self.frame = &app.frame
        self.lifetimes = lifetimes
        self.targets = []
        self.input_pools = [None] * n_inputs
        self.n_inputs = n_inputs
        self.ctis = <int64_t*> PyMem_Malloc(max(1, n_inputs) * sizeof(int64_t))
        if self.ctis is NULL:
            raise MemoryError
        for i in range(n_inputs):
            self.ctis[i] = TIME_MIN
        self.frontier = self.output_frontier = TIME_MIN

    def __dealloc__(self):
        if self.lifetimes is not None:
            heap_clear(&self.heap, self.lifetimes)
        PyMem_Free(self.ctis)
        PyMem_Free(self.outputs)

    def connect(self, TemporalOperator target not None, int input=0):
        """Give the output to an input of another operator."""
        rewire()
        cdef TargetC* outputs = <TargetC*> PyMem_Realloc(self.outputs, (self.n_outputs + 1) * sizeof(TargetC))
        if outputs is NULL:
            raise MemoryError
        self.outputs = outputs
        self.targets.append((target, input))
        outputs[self.n_outputs].operator = <void*> target
        outputs[self.n_outputs].input = input
        self.n_outputs += 1
        target.input_pools[input] = self.row_pool
        if target.row_pool is None:
            target.row_pool = self.row_pool

    def disconnect(self, TemporalOperator target not None):
        """Give no more output to an operator."""
        cdef int i, kept = 0
        rewire()
        for i in range(self.n_outputs):
            if self.outputs[i].operator is not <void*> target:
                self.outputs[kept] = self.outputs[i]
                kept += 1
        self.n_outputs = kept
        self.targets = [pair for pair in self.targets if pair[0] is not target]

    def exchange(self, TemporalOperator old not None, int input, TemporalOperator new not None, int new_input):
        """Give the output for an input of one operator to that of another one."""
        cdef int i
        rewire()
        for i in range(self.n_outputs):
            if self.outputs[i].operator is <void*> old and self.outputs[i].input == input:
                self.outputs[i].operator = <void*> new
                self.outputs[i].input = new_input
        self.targets = [(new, new_input) if target is old and number == input else (target, number)
                        for target, number in self.targets]
        new.input_pools[new_input] = self.row_pool

    def add_input(self):
        """Add an input that has had no CTI; return its index."""
        cdef int64_t* ctis = <int64_t*> PyMem_Realloc(self.ctis, (self.n_inputs + 1) * sizeof(int64_t))
        if ctis is NULL:
            raise MemoryError
        self.ctis = ctis
        ctis[self.n_inputs] = TIME_MIN
        self.n_inputs += 1
        self.input_pools.append(None)
        return self.n_inputs - 1

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        return heap_push(&self.heap, lifetime.start if kind == START else lifetime.end, kind, input, lifetime)

    cdef int advance(self, int input, int64_t cti) except -1:
        cdef int i
        cdef int64_t least = TIME_MAX
        cdef EdgeC edge
        cdef const EdgeC* first
        cdef const EdgeC* ahead
        cdef int place
        if cti <= self.ctis[input]:
            return 0
        self.ctis[input] = cti
        for i in range(self.n_inputs):
            least = min(least, self.ctis[i])
        if least <= self.frontier:
            return 0
        self.frontier = least
        while self.heap.n:
            first = heap_first(&self.heap)
            if first.time > least or (first.time == least and first.kind == START):
                break
            if self.dirty and first.time > self.dirty_at:
                self.dirty = False
                self.flush(self.dirty_at)
            place = self.heap.least
            edge = heap_pop(&self.heap)
            ahead = heap_ahead(&self.heap, place, 7)
            if ahead is not NULL:
                self.prepare(1, ahead)
                self.prepare(2, ahead - 4)
            try:
                if edge.kind == START:
                    self.start(edge.input, edge.lifetime)
                else:
                    self.end(edge.input, edge.lifetime)
            finally:
                release_lifetime(self.lifetimes, edge.lifetime)
        if self.dirty and (self.dirty_at < least or least == TIME_MAX):
            self.dirty = False
            self.flush(self.dirty_at)
        return self.promise(self.settle(least))

    cdef int start(self, int input, LifetimeC* lifetime) except -1:
        raise NotImplementedError

    cdef int end(self, int input, LifetimeC* lifetime) except -1:
        raise NotImplementedError

    cdef void prepare(self, int stage, const EdgeC* edge) noexcept:
        pass

    cdef int flush(self, int64_t time) except -1:
        return 0

    cdef int64_t settle(self, int64_t cti) except? -1:
        return cti

    cdef int mark(self, int64_t time) except -1:
        self.dirty_at = time
        self.dirty = True
        return 0

    cdef int emit(self, int kind, LifetimeC* lifetime) except -1:
        cdef int i
        for i in range(self.n_outputs):
            (<TemporalOperator> self.outputs[i].operator).accept(self.outputs[i].input, kind, lifetime)
        return 0

    cdef int promise(self, int64_t cti) except -1:
        cdef int i
        if cti <= self.output_frontier:
            return 0
        self.output_frontier = cti
        for i in range(self.n_outputs):
            (<TemporalOperator> self.outputs[i].operator).advance(self.outputs[i].input, cti)
        return 0

    # --- snapshots

    def save(self, SnapshotWriter writer not None):
        """Write the state; the lifetimes have been written."""
        self.write(writer)

    def load(self, SnapshotReader reader not None):
        """Replace the state by a written one; the lifetimes have been read."""
        self.read(reader)

    def forget(self):
        """Return to the state in which it was made."""
        self.clear()

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef int i
        writer.put_u32(<uint32_t> self.n_inputs)
        for i in range(self.n_inputs):
            writer.put_i64(self.ctis[i])
        writer.put_i64(self.frontier)
        writer.put_i64(self.output_frontier)
        writer.put_bool(self.dirty)
        writer.put_i64(self.dirty_at if self.dirty else 0)
        return write_heap(&self.heap, writer, self.lifetimes)

    cdef int read(self, SnapshotReader reader) except -1:
        cdef int i
        if reader.get_u32() != <uint32_t> self.n_inputs:
            refuse_damage("a temporal operator has another number of inputs")
        for i in range(self.n_inputs):
            self.ctis[i] = reader.get_i64()
        self.frontier = reader.get_i64()
        self.output_frontier = reader.get_i64()
        self.dirty = reader.get_bool()
        self.dirty_at = reader.get_i64()
        return read_heap(&self.heap, reader, self.lifetimes, self.input_pools)

    cdef int clear(self) except -1:
        cdef int i
        heap_clear(&self.heap, self.lifetimes)
        for i in range(self.n_inputs):
            self.ctis[i] = TIME_MIN
        self.frontier = self.output_frontier = TIME_MIN
        self.dirty = False
        return 0

    cdef int report(self, EventPool pool, EventC* row) except -1:
        """Give the exception that is being handled to the exception handler of the app."""
        error = exc_info()[1]
        if self.app.passes_on(error):
            raise error
        self.app.handle(error, self.origin or "a temporal query", [make_event(row, pool, pool.layout)])
        return 0


@cython.final
cdef class TemporalStream(TemporalOperator):
    """A stream: the union of what its feeders emit. It passes edges on at once."""

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        return self.emit(kind, lifetime)
