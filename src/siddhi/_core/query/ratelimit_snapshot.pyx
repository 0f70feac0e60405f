"""``output snapshot every <time>``: at every tick the rows that the query currently holds.

With a window these are rows: a current event adds one, an expired event removes the first equal one. Rows are compared
by the columns that are always equal for one event: those without aggregates, clocks and calls of Python. If every
column aggregates, there are no rows, only the last event.
"""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport Py_EQ, PyObject, PyObject_RichCompareBool
from cpython.ref cimport Py_XDECREF, Py_XINCREF
from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.query.order cimport ChunkOrder
from siddhi._core.query.ratelimit cimport GroupCellC, Limiter, LimiterState
from siddhi._core.record.chunk cimport EventChunk, chunk_append, chunk_clear, chunk_pop
from siddhi._core.record.event cimport (
    CURRENT, DOUBLE, FLOAT, LONG, OBJECT, STRING, CellC, EventC, EventPool, Layout, copy_event, release,
)
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.snapshot.format cimport SnapshotReader


cpdef enum Picture:
    """What is emitted, per group where groups are separate.

    LATEST: the last current event. ROWS: the rows of the window. AGGREGATES: the last event, while the window has
    events.
    """
    LATEST = 0
    ROWS = 1
    AGGREGATES = 2


@cython.final
@cython.no_gc_clear
cdef class SnapshotLimiter(Limiter):
    """Emits the current rows at every tick.

    Args:
        period_ms: time between ticks.
        grouped: groups are separate: of each the oldest row is emitted.
        picture: what is emitted.
        compared: positions of the columns by which rows are compared.
        aggregated: positions of the columns emitted with their latest values.
        ordering: orders the rows; None: rows by age, groups by first appearance.
        limit: maximum number of rows; -1: all.
        offset: number of rows skipped at the front.
    """

    cdef int picture
    cdef int* compared
    cdef int n_compared
    cdef int* aggregated
    cdef int n_aggregated
    cdef ChunkOrder ordering
    cdef Py_ssize_t most
    cdef Py_ssize_t offset

    def __init__(self, AppContext app not None, EventPool pool not None, int64_t period_ms, bint grouped, int picture,
                 compared, aggregated, ChunkOrder ordering, Py_ssize_t limit, Py_ssize_t offset):
        Limiter.__init__(self, app, pool, grouped, period_ms)
        self.judges = True
        self.repeats = True
        self.picture = picture
        self.compared = positions(compared, &self.n_compared)
        self.aggregated = positions(aggregated, &self.n_aggregated)
        self.ordering = ordering
        self.most = limit
        self.offset = offset

    def __dealloc__(self):
        PyMem_Free(self.compared)
        PyMem_Free(self.aggregated)

    cdef int take(self, LimiterState state, EventC* event, EventChunk* out) except -1:
        cdef uint32_t group_id = self.group_of(event)
        cdef GroupCellC* cell = &self.cells[group_id]
        try:
            if self.picture == LATEST:
                if event.type == CURRENT and not event.stamp:
                    self.link(state, group_id)
                    self.show(cell, event)
            elif self.picture == AGGREGATES:
                self.take_aggregates(state, group_id, event)
            elif event.type == CURRENT:
                self.link(state, group_id)
                cell.value += 1
                event.group = group_id + 1
                event.refs += 1
                chunk_append(&state.buffered, event)
                self.show(cell, event)
            elif self.remove(state, group_id, event):
                cell.value -= 1
                if cell.value == 0:
                    self.unlink(state, group_id)
                else:
                    self.show(cell, event)
        finally:
            release(self.pool, event)
        return 0

    cdef int show(self, GroupCellC* cell, EventC* event) except -1:
        """Store an event as the one with the latest values, unless `having` rejected it."""
        if event.stamp:
            return 0
        event.refs += 1
        if cell.latest is not NULL:
            release(self.pool, cell.latest)
        cell.latest = event
        return 0

    cdef int take_aggregates(self, LimiterState state, uint32_t group_id, EventC* event) except -1:
        cdef GroupCellC* cell = &self.cells[group_id]
        if event.type == CURRENT:
            self.link(state, group_id)
            cell.value += 1
            return self.show(cell, event)
        if not self.grouped:
            return self.unlink(state, group_id)
        cell.value -= 1
        if cell.value <= 0:
            return self.unlink(state, group_id)
        return self.show(cell, event)

    cdef bint remove(self, LimiterState state, uint32_t group_id, EventC* event) except -1:
        """Remove the first row of a group that equals an event; return False if there is none."""
        cdef EventC* row = state.buffered.head
        cdef EventC* before = NULL
        while row is not NULL and not (row.group == group_id + 1 and self.equals(row, event)):
            before = row
            row = row.next
        if row is NULL:
            return False
        if before is NULL:
            state.buffered.head = row.next
        else:
            before.next = row.next
        if state.buffered.tail is row:
            state.buffered.tail = before
        row.next = NULL
        release(self.pool, row)
        return True

    cdef bint equals(self, EventC* a, EventC* b) except -1:
        cdef int i, position
        cdef Layout layout = self.pool.layout
        for i in range(self.n_compared):
            position = self.compared[i]
            if not equal_cells(a, b, layout, position):
                return False
        return True

    cdef int reset(self, int64_t timestamp) except -1:
        """Remove all rows: the window has reset."""
        cdef LimiterState state = self.current_state()
        return 0 if state is None or self.picture == LATEST else self.forget(state)

    cdef int read_states(self, SnapshotReader reader, uint32_t n_groups) except -1:
        cdef LimiterState state
        cdef EventC* row
        Limiter.read_states(self, reader, n_groups)
        for state in self.states:
            row = NULL if state is None else state.buffered.head
            while row is not NULL:
                if row.group == 0 or row.group > self.capacity or not self.cells[row.group - 1].linked:
                    raise ValueError("snapshot is damaged: a row of a picture has no group")
                row = row.next
        return 0

    cdef int tick(self, LimiterState state, EventChunk* out) except -1:
        if self.picture == ROWS:
            self.show_rows(state, out)
        else:
            self.show_latest(state, out)
        return self.arrange(out)

    cdef int show_latest(self, LimiterState state, EventChunk* out) except -1:
        cdef uint32_t group_id = state.first
        cdef EventC* latest
        while group_id:
            latest = self.cells[group_id - 1].latest
            group_id = self.cells[group_id - 1].following
            if latest is not NULL:
                chunk_append(out, copy_event(self.pool, latest))
                if self.picture == LATEST:
                    out.tail.type = CURRENT
        return 0

    cdef int show_rows(self, LimiterState state, EventChunk* out) except -1:
        """Emit rows by age, of each group only the oldest."""
        cdef EventC* row = state.buffered.head
        cdef GroupCellC* cell
        state.count += 1                   # marks the groups emitted at this tick
        while row is not NULL:
            cell = &self.cells[row.group - 1]
            if not row.stamp and not (self.grouped and cell.shown == state.count):
                cell.shown = state.count
                chunk_append(out, copy_event(self.pool, row))
                if cell.latest is not NULL:
                    self.refresh(out.tail, cell.latest)
            row = row.next
        return 0

    cdef int refresh(self, EventC* row, EventC* latest) except -1:
        """Write the latest aggregates into a row."""
        cdef int i, position, cell
        cdef uint64_t bit
        cdef PyObject* old
        cdef Layout layout = self.pool.layout
        for i in range(self.n_aggregated):
            position = self.aggregated[i]
            cell = layout.words + position
            bit = (<uint64_t> 1) << (position & 63)
            row.body[position >> 6] = (row.body[position >> 6] & ~bit) | (latest.body[position >> 6] & bit)
            if layout.codes[position] == STRING or layout.codes[position] == OBJECT:
                old = <PyObject*> row.body[cell]
                Py_XINCREF(<PyObject*> latest.body[cell])
                row.body[cell] = latest.body[cell]
                Py_XDECREF(old)
            else:
                row.body[cell] = latest.body[cell]
        return 0

    cdef int arrange(self, EventChunk* chunk) except -1:
        """Order the rows, apply offset and limit."""
        cdef EventChunk kept
        cdef Py_ssize_t position = 0
        if self.ordering is not None:
            self.ordering.sort(chunk)
        if self.most < 0 and self.offset <= 0:
            return 0
        chunk_clear(&kept)
        while chunk.head is not NULL:
            if position < self.offset or (self.most >= 0 and position - self.offset >= self.most):
                release(self.pool, chunk_pop(chunk))
            else:
                chunk_append(&kept, chunk_pop(chunk))
            position += 1
        chunk[0] = kept
        return 0


cdef int* positions(values, int* n) except NULL:
    cdef int* array
    cdef int i
    values = tuple(values)
    n[0] = len(values)
    array = <int*> PyMem_Malloc(max(1, n[0]) * sizeof(int))
    if array is NULL:
        raise MemoryError
    for i in range(n[0]):
        array[i] = values[i]
    return array


cdef bint equal_cells(EventC* a, EventC* b, Layout layout, int position) except -1:
    cdef uint64_t bit = (<uint64_t> 1) << (position & 63)
    cdef bint a_is_null = a.body[position >> 6] & bit != 0
    cdef bint b_is_null = b.body[position >> 6] & bit != 0
    cdef CellC* x = <CellC*> &a.body[layout.words + position]
    cdef CellC* y = <CellC*> &b.body[layout.words + position]
    cdef int code = layout.codes[position]
    if a_is_null or b_is_null:
        return a_is_null and b_is_null
    if code == STRING or code == OBJECT:
        return x.o == y.o or PyObject_RichCompareBool(<object> x.o, <object> y.o, Py_EQ)
    if code == DOUBLE:
        return x.d == y.d or (x.d != x.d and y.d != y.d)
    if code == FLOAT:
        return x.f == y.f or (x.f != x.f and y.f != y.f)
    if code == LONG:
        return x.l == y.l
    return x.i == y.i
