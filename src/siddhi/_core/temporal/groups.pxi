# The groups of a temporal window: rows, aggregates and results of each. Part of window.pyx.

from cpython.mem cimport PyMem_Malloc

from siddhi._core.temporal.lifetime cimport is_numbered, read_rows, write_rows

cdef struct WindowRowC:
    LifetimeC* lifetime            # a reference is owned
    EventC* out                    # the output row with rank 0, owned; NULL: aggregates, or rejected

cdef struct GroupC:
    Py_ssize_t n                   # rows alive
    WindowRowC* rows               # of a selection without order
    Py_ssize_t capacity
    OrderedRowsC ordered           # of a selection with an order
    LifetimeC** results            # that have begun, references are owned
    Py_ssize_t n_results
    Py_ssize_t result_capacity
    int64_t changed_at             # snapshot: time of the last change
    bint queued                    # in `changed`
    int64_t starts                 # counting windows: number of distinct starts held
    Py_ssize_t members             # rows that have entered and not left: the rows alive, and those rejected
    bint live


@cython.final
@cython.no_gc_clear
cdef class Groups:
    """The rows of a window by group, and what is computed of them.

    Args:
        lifetimes: of the app.
        layout: of the rows.
        positions: of the group-by attributes.
        rows: makes output rows.
        aggregators: in order of evaluation.
        aggregates: whether there is one output row per group; else one per row.
        order: (position of an output attribute, whether descending) of top-k.
        limit: k, ties at the last place are kept; -1: all rows.
        conditions: filters behind the window: other rows are members, but not in results.
    """

    cdef LifetimePool lifetimes
    cdef FrameC* frame
    cdef Layout layout
    cdef tuple positions
    cdef KeyMap keys
    cdef RowMaker rows
    cdef list aggregators
    cdef list weighted
    cdef list recomputed           # PythonAggregator; without a state between two results
    cdef bint aggregates
    cdef RowOrder order            # None: none
    cdef Py_ssize_t limit
    cdef tuple conditions
    cdef GroupC* groups
    cdef uint32_t capacity
    cdef uint32_t* group_of        # by index of a lifetime
    cdef uint32_t group_capacity
    cdef uint32_t* row_of          # by index of a lifetime: 1 + its row, where rows have no order; 0: not in the window
    cdef uint32_t row_capacity
    cdef EventC** out_of           # by index of a lifetime: its output row, where rows have an order; borrowed
    cdef uint32_t out_capacity
    cdef list numbers              # by group id: number in the snapshot that is being written; None: it is left out

    def __init__(self, LifetimePool lifetimes not None, Layout layout not None, tuple positions not None,
                 RowMaker rows not None, list aggregators not None, bint aggregates, tuple order not None, Py_ssize_t limit,
                 tuple conditions=()):
        self.lifetimes = lifetimes
        self.layout = layout
        self.positions = positions
        self.rows = rows
        self.frame = rows.frame
        self.weighted = [each for each in aggregators if isinstance(each, TimeWeighted)]
        self.recomputed = [each for each in aggregators if isinstance(each, PythonAggregator) and each.recomputed]
        self.aggregators = [
            each for each in aggregators if not isinstance(each, TimeWeighted) and each not in self.recomputed
        ]
        self.aggregates = aggregates
        self.order = RowOrder(rows.pool.layout, order) if order else None
        self.limit = limit
        self.conditions = conditions
        if positions:
            self.keys = KeyMap(tuple([layout.types[position] for position in positions]))

    def __dealloc__(self):
        cdef uint32_t i
        for i in range(self.capacity):
            self.clear(&self.groups[i])
        PyMem_Free(self.groups)
        PyMem_Free(self.group_of)
        PyMem_Free(self.row_of)
        PyMem_Free(self.out_of)

    cdef void clear(self, GroupC* group) noexcept:
        cdef Py_ssize_t i
        cdef uint32_t block, entry
        cdef OrderedRowC* row
        for block in range(group.ordered.n_blocks):
            for entry in range(group.ordered.blocks[block].n):
                row = &group.ordered.blocks[block].rows[entry]
                release(self.rows.pool, row.out)
                release_lifetime(self.lifetimes, row.lifetime)
        ordered_clear(&group.ordered)
        for i in range(group.n if self.order is None else 0):
            if group.rows[i].out is not NULL:
                release(self.rows.pool, group.rows[i].out)
            release_lifetime(self.lifetimes, group.rows[i].lifetime)
        for i in range(group.n_results):
            release_lifetime(self.lifetimes, group.results[i])
        PyMem_Free(group.rows)
        PyMem_Free(group.results)
        memset(group, 0, sizeof(GroupC))

    cdef uint32_t enter(self, LifetimeC* lifetime) except? 0xfffffffe:
        """Return the group id of a row, and remember it; create the group if it is new."""
        cdef CellC key[64]
        cdef uint64_t nulls = 0
        cdef uint32_t group_id = 0
        cdef bint is_new
        cdef int i, position
        cdef Aggregator aggregator
        if self.positions:
            for i in range(len(self.positions)):
                position = self.positions[i]
                key[i].bits = lifetime.row.body[self.layout.words + position]
                if lifetime.row.body[position >> 6] >> (position & 63) & 1:
                    nulls |= (<uint64_t> 1) << i
                    key[i].bits = 0
            group_id = self.keys.insert(key, nulls, &is_new)
        self.groups = <GroupC*> grow_by_index(self.groups, &self.capacity, group_id, sizeof(GroupC))
        if not self.groups[group_id].live:
            memset(&self.groups[group_id], 0, sizeof(GroupC))
            self.groups[group_id].live = True
            for aggregator in self.aggregators:
                aggregator.create(group_id)
            for aggregator in self.weighted:
                aggregator.create(group_id)
            for aggregator in self.recomputed:
                aggregator.create(group_id)
        self.group_of = <uint32_t*> grow_by_index(self.group_of, &self.group_capacity, lifetime.index, sizeof(uint32_t))
        self.group_of[lifetime.index] = group_id + 1
        self.groups[group_id].members += 1
        return group_id

    cdef bint is_member(self, uint32_t index) noexcept:
        return index < self.group_capacity and self.group_of[index] != 0

    cdef uint32_t leave(self, LifetimeC* lifetime) except? 0xfffffffe:
        """Return the group id of a row that has entered, and remove it."""
        cdef uint32_t group_id = self.group_of[lifetime.index] - 1
        self.remove(group_id, lifetime)
        self.group_of[lifetime.index] = 0
        self.groups[group_id].members -= 1
        return group_id

    cdef int drop(self, uint32_t group_id) except -1:
        """Drop a group without members and results."""
        cdef Aggregator aggregator
        self.clear(&self.groups[group_id])
        for aggregator in self.aggregators:
            aggregator.destroy(group_id)
        for aggregator in self.weighted:
            aggregator.destroy(group_id)
        for aggregator in self.recomputed:
            aggregator.destroy(group_id)
        if self.positions:
            self.keys.remove(group_id)
        return 0

    cdef int update(self, uint32_t group_id, LifetimeC* lifetime, int type) except -1:
        """Add a row to the aggregates, or remove it. What fails has no effect."""
        cdef Aggregator aggregator
        cdef TimeWeighted weighted
        cdef int done = 0, i
        self.rows.look_at(lifetime.row, NULL, lifetime.start, TIME_MAX, 0)
        self.frame.group = group_id
        self.frame.type = type
        try:
            for aggregator in self.aggregators:
                aggregator.c.fn(&aggregator.c, lifetime.row, self.frame, NULL)
                done += 1
            for weighted in self.weighted:
                weighted.change(group_id, lifetime.row, self.frame, ALIVE, 1 if type == CURRENT else -1, lifetime.start)
                done += 1
        except BaseException:
            self.frame.type = EXPIRED if type == CURRENT else CURRENT
            for i in range(done):
                if i < len(self.aggregators):
                    aggregator = self.aggregators[i]
                    aggregator.c.fn(&aggregator.c, lifetime.row, self.frame, NULL)
                else:
                    weighted = self.weighted[i - len(self.aggregators)]
                    weighted.change(group_id, lifetime.row, self.frame, ALIVE, -1 if type == CURRENT else 1, lifetime.start)
            raise
        return 0

    cdef int weigh(self, LifetimeC* lifetime, int part, int sign, int64_t time) except -1:
        """Add a row that is in the window to a part of the window for time-weighted averages, or remove it."""
        cdef TimeWeighted weighted
        if not self.has(lifetime.index):
            return 0
        self.rows.look_at(lifetime.row, NULL, lifetime.start, TIME_MAX, 0)
        for weighted in self.weighted:
            weighted.change(self.group_of[lifetime.index] - 1, lifetime.row, self.frame, part, sign, time)
        return 0

    cdef inline bint has(self, uint32_t index) noexcept:
        """Return whether a row without order is in the window: it may have been rejected, or its evaluation have failed."""
        return index < self.row_capacity and self.row_of[index] != 0

    cdef int add(self, uint32_t group_id, LifetimeC* lifetime) except -1:
        cdef EventC* out = NULL
        if self.conditions and not self.passes(lifetime):
            return 0
        if self.aggregates:
            self.row_of = <uint32_t*> grow_by_index(self.row_of, &self.row_capacity, lifetime.index, sizeof(uint32_t))
            self.update(group_id, lifetime, CURRENT)
        else:
            self.frame.group = group_id
            self.rows.look_at(lifetime.row, NULL, lifetime.start, TIME_MAX, 0)
            out = self.rows.make(lifetime.row)
            if out is NULL:
                return 0
        return self.place(group_id, lifetime, out)

    cdef bint passes(self, LifetimeC* lifetime) except -1:
        cdef Executor condition
        self.rows.look_at(lifetime.row, NULL, lifetime.start, TIME_MAX, 0)
        for condition in self.conditions:
            if not evaluate_condition(&condition.c, lifetime.row, self.frame):
                return False
        return True

    cdef int place(self, uint32_t group_id, LifetimeC* lifetime, EventC* out) except -1:
        """Add a row and its output row; takes over the reference of that one, where rows have an order."""
        cdef GroupC* group = &self.groups[group_id]
        cdef Py_ssize_t capacity
        cdef WindowRowC* larger
        if self.order is not None:
            return self.add_ordered(group_id, lifetime, out)
        self.row_of = <uint32_t*> grow_by_index(self.row_of, &self.row_capacity, lifetime.index, sizeof(uint32_t))
        if group.n == group.capacity:
            capacity = max(4, 2 * group.capacity)
            larger = <WindowRowC*> enlarge(group.rows, group.n * sizeof(WindowRowC), capacity * sizeof(WindowRowC))
            if larger is NULL:
                raise MemoryError
            group.rows = larger
            group.capacity = capacity
        group.rows[group.n].lifetime = retain_lifetime(lifetime)
        group.rows[group.n].out = out
        group.n += 1
        self.row_of[lifetime.index] = <uint32_t> group.n
        return 0

    cdef int add_ordered(self, uint32_t group_id, LifetimeC* lifetime, EventC* out) except -1:
        """Add an output row in its place; takes over its reference."""
        cdef bint done = False
        try:
            self.out_of = <EventC**> grow_by_index(self.out_of, &self.out_capacity, lifetime.index, sizeof(EventC*))
            ordered_add(&self.groups[group_id].ordered, self.order, OrderedRowC(self.order.key(out), out, lifetime))
            done = True
        finally:
            if not done:
                release(self.rows.pool, out)
        retain_lifetime(lifetime)
        self.groups[group_id].n += 1
        self.out_of[lifetime.index] = out
        return 0

    cdef int remove(self, uint32_t group_id, LifetimeC* lifetime) except -1:
        """Remove a row, if it is in the window."""
        cdef GroupC* group = &self.groups[group_id]
        cdef EventC* out
        cdef WindowRowC* row
        cdef uint32_t at
        if self.order is not None:
            out = self.out_of[lifetime.index] if lifetime.index < self.out_capacity else NULL
            if out is NULL:
                return 0
            ordered_remove(&group.ordered, self.order, OrderedRowC(self.order.key(out), out, lifetime))
            self.out_of[lifetime.index] = NULL
            group.n -= 1
            release(self.rows.pool, out)
            release_lifetime(self.lifetimes, lifetime)
            return 0
        if not self.has(lifetime.index):
            return 0
        at = self.row_of[lifetime.index] - 1
        out = group.rows[at].out
        group.n -= 1
        if at != group.n:
            row = &group.rows[at]
            row[0] = group.rows[group.n]
            self.row_of[row.lifetime.index] = at + 1
        self.row_of[lifetime.index] = 0
        try:
            if self.aggregates:
                self.update(group_id, lifetime, EXPIRED)
        finally:
            if out is not NULL:
                release(self.rows.pool, out)
            release_lifetime(self.lifetimes, lifetime)
        return 0

    cdef void prepare(self, int stage, uint32_t index) noexcept:
        """Prefetch what remove() will read."""
        cdef GroupC* group
        if index >= self.group_capacity:
            return
        if stage == 1:
            prefetch(&self.group_of[index])
            if self.order is not None and index < self.out_capacity:
                prefetch(&self.out_of[index])
            elif index < self.row_capacity:
                prefetch(&self.row_of[index])
        elif self.order is not None:
            if index < self.out_capacity and self.out_of[index] is not NULL:
                prefetch(self.out_of[index])
        elif self.has(index) and self.group_of[index]:
            group = &self.groups[self.group_of[index] - 1]
            prefetch(&group.rows[self.row_of[index] - 1])

    cdef int begin(self, TemporalOperator operator, uint32_t group_id, int64_t start, int64_t end, int64_t window_start,
                   int64_t window_end, int flags) except -1:
        """Emit the results of a group, for the lifetime [start, end). An `end` of MAX: they end with finish().

        The window is what time-weighted averages go by. In a snapshot, where every row is alive all the time, any will do.
        """
        cdef GroupC* group = &self.groups[group_id]
        cdef Py_ssize_t i
        cdef TimeWeighted weighted
        if self.aggregates:
            for weighted in self.weighted:
                weighted.look(group_id, window_start, window_end)
            if self.recomputed:
                return self.begin_recomputed(operator, group_id, start, end, flags)
            self.result(operator, group_id, group.rows[0].lifetime, start, end, 0, flags)
        elif self.order is None:
            for i in range(group.n):
                self.result(operator, group_id, self.groups[group_id].rows[i].lifetime, start, end, i + 1, flags)
        else:
            self.begin_ordered(operator, group_id, start, end, flags)
        return 0

    cdef int begin_recomputed(self, TemporalOperator operator, uint32_t group_id, int64_t start, int64_t end,
                              int flags) except -1:
        """Emit the result of a group with aggregators that are made of all rows for each result."""
        cdef PythonAggregator aggregator
        cdef LifetimeC* lifetime = self.groups[group_id].rows[0].lifetime
        try:
            for aggregator in self.recomputed:
                self.recompute(aggregator, group_id)
            self.result(operator, group_id, lifetime, start, end, 0, flags)
        except Exception:
            return operator.report(<EventPool> lifetime.pool, lifetime.row)
        finally:
            for aggregator in self.recomputed:
                aggregator.destroy(group_id)
        return 0

    cdef int recompute(self, PythonAggregator aggregator, uint32_t group_id) except -1:
        cdef list rows = []
        cdef Py_ssize_t i
        cdef LifetimeC* lifetime
        for i in range(self.groups[group_id].n):
            lifetime = self.groups[group_id].rows[i].lifetime
            self.rows.look_at(lifetime.row, NULL, lifetime.start, TIME_MAX, 0)
            self.frame.group = group_id
            rows.append((lifetime.start, aggregator.read_arguments(lifetime.row, self.frame)))
        return aggregator.add_all(group_id, rows)

    cdef int begin_ordered(self, TemporalOperator operator, uint32_t group_id, int64_t start, int64_t end,
                           int flags) except -1:
        """Emit the first rows of a group, and those equal to the last one of them."""
        cdef OrderedRowsC* rows = &self.groups[group_id].ordered
        cdef OrderedRowC* row
        cdef OrderedRowC* previous = NULL
        cdef uint32_t block, entry
        cdef int64_t count = 0, rank = 0
        for block in range(rows.n_blocks):
            for entry in range(rows.blocks[block].n):
                row = &rows.blocks[block].rows[entry]
                count += 1
                if previous is NULL or not self.order.equal(previous, row):
                    rank = count
                    if self.limit >= 0 and rank > self.limit:
                        return 0
                previous = row
                self.result(operator, group_id, row.lifetime, start, end, rank, flags)
                rows = &self.groups[group_id].ordered
        return 0

    cdef int result(self, TemporalOperator operator, uint32_t group_id, LifetimeC* lifetime, int64_t start, int64_t end,
                    int64_t rank, int flags) except -1:
        cdef EventC* row = lifetime.row
        cdef EventC* out
        cdef LifetimeC* made
        self.rows.look_at(row, NULL, start, TIME_MAX, rank)
        self.frame.group = group_id
        self.frame.type = TIMER        # aggregators only give their values
        try:
            out = self.rows.make(row)
            if out is NULL:
                return 0
            try:
                made = self.lifetimes.acquire(self.rows.pool, out, start, end)
            finally:
                release(self.rows.pool, out)
        except Exception:
            return operator.report(<EventPool> lifetime.pool, row)
        made.flags |= flags
        try:
            operator.emit(START, made)
            if end != TIME_MAX:
                operator.emit(END, made)
                return 0
            self.keep_result(group_id, made)
        finally:
            release_lifetime(self.lifetimes, made)
        return 0

    cdef int keep_result(self, uint32_t group_id, LifetimeC* result) except -1:
        """Remember a result that has begun."""
        cdef GroupC* group = &self.groups[group_id]
        cdef Py_ssize_t capacity
        cdef LifetimeC** larger
        if group.n_results == group.result_capacity:
            capacity = max(1, 2 * group.result_capacity)
            larger = <LifetimeC**> PyMem_Realloc(group.results, capacity * sizeof(LifetimeC*))
            if larger is NULL:
                raise MemoryError
            group.results = larger
            group.result_capacity = capacity
        group.results[group.n_results] = retain_lifetime(result)
        group.n_results += 1
        return 0

    cdef int finish(self, TemporalOperator operator, uint32_t group_id, int64_t time) except -1:
        """End the results that have begun."""
        cdef GroupC* group = &self.groups[group_id]
        cdef LifetimeC* result
        while group.n_results:
            group.n_results -= 1
            result = group.results[group.n_results]
            try:
                result.end = time
                operator.emit(END, result)
            finally:
                release_lifetime(self.lifetimes, result)
        return 0

include "window_snapshot.pxi"
