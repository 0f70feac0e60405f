# Lifetimes: rows that are valid during [start, end), and the base of the operators that work on them.
#
# Operators exchange edges. accept(START) announces a lifetime; accept(END) says that its end is known and final. A
# lifetime whose end is never known ends at MAX and has no END. advance(cti) promises that no edge with an earlier time
# follows: a START at or after cti, or an END at or after cti. The time of an edge is the start or the end of its lifetime.
#
# An operator keeps edges in a heap until its input frontier (the smallest CTI of its inputs) has passed them, and handles
# them in the order of their times, END before START: STARTs before the frontier, ENDs up to it. Operators that need no
# order override accept().

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.sampler cimport Patches
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef extern from *:
    """
    #define SIDDHI_TIME_MAX INT64_MAX
    #define SIDDHI_TIME_MIN INT64_MIN
    """
    const int64_t TIME_MAX "SIDDHI_TIME_MAX"       # end not known, or never; as a CTI: the end of the input
    const int64_t TIME_MIN "SIDDHI_TIME_MIN"       # before everything; the CTI of a stream that has had none

cdef enum EdgeKind:
    END = 0
    START = 1

cdef enum:
    COMPLETE = 1               # flag: the result of a complete window, which leaves before the frontier has passed its end
    REMOVED = 2                # flag: a RETRACT has removed it before it was seen
    ENDED = 4                  # flag: its END has been given to the operators
    FOREVER = 8                # flag: it never ends, so nothing needs to be kept for its END

cdef struct LifetimeC:
    int64_t start
    int64_t end                # TIME_MAX: not known, or never
    int64_t given              # the start that the sender gave; it differs from `start` where the policy adjusted it
    EventC* row                # a reference is owned
    void* pool                 # EventPool of the row
    uint32_t index             # unique among the lifetimes that exist: operators keep their state in arrays by it
    uint32_t refs
    uint8_t flags
    uint8_t reserved[7]            # 64 bytes: a line of the cache

cdef class LifetimePool:
    # Allocates the lifetimes of one app.
    cdef LifetimeC** lifetimes  # [used] by index; NULL: the index is free
    cdef uint32_t capacity
    cdef uint32_t used
    cdef uint32_t* free        # stack of free indexes
    cdef uint32_t n_free
    cdef LifetimeC* spare      # linked by `row`
    cdef void** arenas         # the memory of all lifetimes
    cdef Py_ssize_t n_arenas
    cdef Py_ssize_t arena_size  # lifetimes of the next arena
    cdef readonly Py_ssize_t alive
    cdef Py_ssize_t matches    # pairs of lifetimes that joins keep
    cdef Py_ssize_t most       # lifetimes and matches together; -1: no limit
    cdef str full              # what an error says beyond it
    cdef tuple pools           # keeps the pools of the rows; the garbage collector would empty a list
    cdef uint32_t* numbers     # by index: number in the snapshot that is being written
    cdef uint32_t n_numbered
    cdef uint32_t n_restored   # lifetimes that a snapshot being read has made: one reference of each is owned
    cpdef int keep(self, EventPool pool) except -1                # call once for each pool of rows
    # Return a lifetime with refs == 1; it retains the row.
    cdef LifetimeC* acquire(self, EventPool pool, EventC* row, int64_t start, int64_t end) except NULL
    cdef void recycle(self, LifetimeC* lifetime) noexcept
    cdef int require_room(self) except -1
    cdef int grow(self) except -1
    # --- snapshots
    cdef int write(self, SnapshotWriter writer) except -1
    cdef int read(self, SnapshotReader reader) except -1          # no operator may hold a lifetime
    cdef void release_restored(self) noexcept

cdef inline LifetimeC* retain_lifetime(LifetimeC* lifetime) noexcept:
    lifetime.refs += 1
    return lifetime

cdef inline void release_lifetime(LifetimePool pool, LifetimeC* lifetime) noexcept:
    """Remove a reference; the last one frees the lifetime and its row."""
    lifetime.refs -= 1
    if lifetime.refs == 0:
        pool.recycle(lifetime)

cdef inline int64_t shifted(int64_t time, int64_t by) noexcept:
    """Return time + by; MIN and MAX absorb, and results beyond them saturate."""
    if time == TIME_MAX or time == TIME_MIN:
        return time
    if by == TIME_MAX or by == TIME_MIN:
        return by
    if by > 0 and time > TIME_MAX - by:
        return TIME_MAX
    if by < 0 and time < TIME_MIN - by:
        return TIME_MIN
    return time + by

cdef struct EdgeC:
    int64_t time
    uint64_t order             # of arrival, among edges of the same kind and time
    LifetimeC* lifetime        # a reference is owned
    uint8_t kind
    uint8_t input

# --- Edges in order of (time, END before START, arrival).
#
# Most edges come in their order: they are appended to the line of their input and kind. The others go into a small binary
# heap; when it is full, it becomes a sorted run, and four runs of one level are merged. So a million edges that wait are
# read and written in sequence, not at random; each change costs O(log n), on average over the merges.

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define SIDDHI_PREFETCH(address) __builtin_prefetch(address)
    #else
    #define SIDDHI_PREFETCH(address) ((void) 0)
    #endif
    """
    void prefetch "SIDDHI_PREFETCH" (const void* address) noexcept

cdef enum:
    LINES = 4                      # of two inputs
    SMALL = 512                    # edges of the heap
    RUNS = 48

cdef struct EdgeRunC:              # sorted
    EdgeC* edges
    Py_ssize_t first               # those before have left
    Py_ssize_t n                   # end of the edges
    Py_ssize_t capacity
    int level                      # 4**level heaps have been merged into it

cdef struct EdgeHeapC:             # zeros: empty
    Py_ssize_t n                   # edges
    uint64_t order
    EdgeC* small                   # binary heap
    Py_ssize_t n_small
    EdgeRunC lines[4]
    EdgeRunC* runs
    int n_runs
    int least                      # where the first edge is: a line, LINES: the heap, or a run behind; -1: not known

cdef int heap_push(EdgeHeapC* heap, int64_t time, int kind, int input, LifetimeC* lifetime) except -1   # retains it
cdef const EdgeC* heap_first(EdgeHeapC* heap) noexcept                             # of a heap that is not empty
cdef EdgeC heap_pop(EdgeHeapC* heap) noexcept                                      # the caller owns the reference
cdef const EdgeC* heap_ahead(EdgeHeapC* heap, int place, Py_ssize_t n) noexcept    # the n-th behind the first; NULL: none
cdef int heap_copy(EdgeHeapC* heap, EdgeC* edges) except -1                  # copies all edges, borrowed, in order
cdef void heap_clear(EdgeHeapC* heap, LifetimePool pool) noexcept

# --- Lifetimes in snapshots. LifetimePool.write() has written them all and given them numbers; operators refer to them.

cdef bint is_numbered(LifetimePool pool, uint32_t index) noexcept                  # whether a lifetime has this index
cdef int put_lifetime(SnapshotWriter writer, LifetimePool pool, LifetimeC* lifetime) except -1        # NULL: none
# Return a lifetime, borrowed, or NULL for none. Its row must be of the pool `rows`, else the snapshot is damaged.
cdef LifetimeC* get_lifetime(SnapshotReader reader, LifetimePool pool, EventPool rows) except? NULL
cdef int write_heap(EdgeHeapC* heap, SnapshotWriter writer, LifetimePool pool) except -1
cdef int read_heap(EdgeHeapC* heap, SnapshotReader reader, LifetimePool pool, list rows) except -1     # rows: by input
cdef Py_ssize_t get_size(SnapshotReader reader) except -1      # a number of items, of four bytes at least
cdef int refuse_damage(str why) except -1
cdef int write_rows(SnapshotWriter writer, EventPool pool, EventC** rows, Py_ssize_t n) except -1
cdef Py_ssize_t read_rows(SnapshotReader reader, EventPool pool, EventC*** rows) except -1     # the caller owns both

cdef struct TargetC:
    void* operator             # a TemporalOperator, borrowed from `targets`
    int input

# Arrays by the index of a lifetime.
cdef void* grow_by_index(void* items, uint32_t* capacity, uint32_t index, size_t width) except NULL

cdef struct WiringC:
    uint64_t changes           # of what any operator gives its output to

cdef WiringC wiring

# Replace pointers to operators for a while, which `targets` does not show; taken away before the operators are connected
# in another way.
cdef class WiringPatches(Patches):
    cdef bint placed
    cdef void note(self, bint placed) noexcept

cdef class TemporalOperator:
    cdef readonly AppContext app
    cdef readonly LifetimePool lifetimes
    cdef FrameC* frame
    cdef readonly list targets          # (operator, input) of those that get the output
    cdef public EventPool row_pool      # of the rows that it emits
    cdef public str origin              # the query that it belongs to, for errors of rows; None: it belongs to none
    cdef list input_pools               # of the rows that come in, by input; None: not connected
    cdef TargetC* outputs
    cdef int n_outputs
    cdef int64_t* ctis                  # [n_inputs]
    cdef readonly int n_inputs
    cdef readonly int64_t frontier      # the smallest CTI of the inputs
    cdef readonly int64_t output_frontier
    cdef EdgeHeapC heap
    cdef int64_t dirty_at               # a time whose edges have been handled, but not flushed
    cdef bint dirty
    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1
    cdef int advance(self, int input, int64_t cti) except -1
    cdef int start(self, int input, LifetimeC* lifetime) except -1
    cdef int end(self, int input, LifetimeC* lifetime) except -1
    # Prefetch what the edge will read, first with stage 1 and a little later, before it is handled, with stage 2.
    cdef void prepare(self, int stage, const EdgeC* edge) noexcept
    cdef int flush(self, int64_t time) except -1             # every edge of this time has been handled
    cdef int64_t settle(self, int64_t cti) except? -1        # the frontier has moved; return the output frontier
    cdef int mark(self, int64_t time) except -1              # call flush() when all edges of the time have been handled
    cdef int emit(self, int kind, LifetimeC* lifetime) except -1
    cdef int promise(self, int64_t cti) except -1            # move the output frontier
    cdef int write(self, SnapshotWriter writer) except -1
    cdef int read(self, SnapshotReader reader) except -1     # after clear(), with the lifetimes of the snapshot
    cdef int clear(self) except -1                           # as when it was made
    cdef int report(self, EventPool pool, EventC* row) except -1     # handle the exception of a row's evaluation
