"""Output rows of temporal queries."""

cimport cython
from cpython.mem cimport PyMem_Free
from libc.string cimport memset

from siddhi._core.expression.executor cimport evaluate_condition
from siddhi._core.query.column cimport make_columns, write_columns
from siddhi._core.record.event cimport CURRENT, LONG, Layout, acquire, release
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.temporal.lifetime cimport (
    get_lifetime, get_size, grow_by_index, is_numbered, put_lifetime, refuse_damage, release_lifetime, retain_lifetime,
)

lifetime_layout = Layout(("start", "end", "rank"), (LONG, LONG, LONG))


@cython.final
@cython.no_gc_clear
cdef class RowMaker:
    """Makes the output rows of a query, and sets the event slots that its expressions read.

    Args:
        app: context of the app.
        pool: pool of the output rows; None: only expressions are evaluated.
        executors: one per output attribute.
        having: condition on output rows; None: all pass.
    """

    def __init__(self, AppContext app not None, EventPool pool=None, tuple executors=(), Executor having=None):
        self.frame = &app.frame
        self.pool = pool
        self.executors = executors
        self.having = having
        self.n_columns = len(executors)
        if pool is not None:
            self.columns = make_columns(executors, pool.layout)
        self.times = EventPool(lifetime_layout)
        self.lifetime = acquire(self.times)
        memset(self.lifetime.body, 0, 8 * (self.times.layout.words + self.times.layout.width))

    def __dealloc__(self):
        if self.lifetime is not NULL:
            release(self.times, self.lifetime)
        PyMem_Free(self.columns)

    cdef int look_at(self, EventC* left, EventC* right, int64_t start, int64_t end, int64_t rank) except -1:
        cdef int words = self.times.layout.words
        self.lifetime.body[words] = <uint64_t> start
        self.lifetime.body[words + 1] = <uint64_t> end
        self.lifetime.body[words + 2] = <uint64_t> rank
        self.slots[0] = left
        self.slots[1] = right
        self.slots[2] = self.lifetime
        self.frame.slots = self.slots
        self.frame.type = CURRENT
        return 0

    cdef EventC* make(self, EventC* row) except? NULL:
        cdef EventC* out = acquire(self.pool)
        cdef int i
        cdef bint done = False
        for i in range(self.pool.layout.words):
            out.body[i] = 0
        out.timestamp = <int64_t> self.lifetime.body[self.times.layout.words]
        try:
            write_columns(self.columns, self.n_columns, row, self.frame, out)
            done = True
            if self.having is not None:
                self.frame.output = out
                done = evaluate_condition(&self.having.c, row, self.frame)
        except BaseException:
            done = False
            raise
        finally:
            self.frame.output = NULL
            if not done:
                release(self.pool, out)
        return out if done else NULL


@cython.final
@cython.no_gc_clear
cdef class OutputMap:
    """One lifetime by the index of another one."""

    def __init__(self, LifetimePool lifetimes not None):
        self.lifetimes = lifetimes

    def __dealloc__(self):
        cdef uint32_t i
        for i in range(self.capacity):
            if self.out[i] is not NULL:
                release_lifetime(self.lifetimes, self.out[i])
        PyMem_Free(self.out)


cdef int map_set(OutputMap map, uint32_t index, LifetimeC* out) except -1:
    map.out = <LifetimeC**> grow_by_index(map.out, &map.capacity, index, sizeof(LifetimeC*))
    map_drop(map, index)       # of a lifetime that never ended, and had this index before
    map.out[index] = retain_lifetime(out)
    return 0


cdef void map_drop(OutputMap map, uint32_t index) noexcept:
    cdef LifetimeC* out = map_find(map, index)
    if out is not NULL:
        map.out[index] = NULL
        release_lifetime(map.lifetimes, out)


cdef int map_write(OutputMap map, SnapshotWriter writer) except -1:
    cdef uint32_t index, n = 0
    for index in range(map.capacity):
        if map.out[index] is not NULL and is_numbered(map.lifetimes, index):
            n += 1
    writer.put_u32(n)
    for index in range(map.capacity):
        if map.out[index] is not NULL and is_numbered(map.lifetimes, index):
            if writer.items is None:
                writer.put_u32(map.lifetimes.numbers[index])
            put_lifetime(writer, map.lifetimes, map.out[index])
    return 0


cdef int map_read(OutputMap map, SnapshotReader reader, EventPool rows) except -1:
    cdef Py_ssize_t _i, n = get_size(reader)
    cdef uint32_t index
    cdef LifetimeC* out
    for _i in range(n):
        index = reader.get_u32()
        out = get_lifetime(reader, map.lifetimes, rows)
        if out is NULL or index >= map.lifetimes.n_restored:
            refuse_damage("the result of a lifetime is missing, or the lifetime")
        map_set(map, index, out)
    return 0


cdef void map_clear(OutputMap map) noexcept:
    cdef uint32_t index
    for index in range(map.capacity):
        map_drop(map, index)
