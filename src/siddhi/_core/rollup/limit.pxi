# Limit on the rows of an aggregation that are in memory.
#
# A row makes rows of coarser buckets later, when buckets are over and no event is left that could be refused. So a new row
# counts at once with the coarser rows that it will make: Level.ahead holds the keys (bucket and group) of the rows that a
# level runs now or will run before its bucket is over. The number of rows never exceeds the limit, and a roll-up never adds
# to it.


cdef bint has_room(Aggregation self, EventC* event, int64_t bucket) except -1:
    """Return whether the row of an event may be held; if not, report that.

    Raises:
        Exception: the event is refused, and no entry collects the errors of its events.
    """
    cdef CellC key[MAX_WIDTH]
    cdef Level level
    cdef uint64_t nulls = 0
    cdef Py_ssize_t n = 1
    cdef bint is_new = False
    cdef int i
    for i in range(self.n_groups):
        if event.body[self.sources[i].word] & self.sources[i].bit:
            nulls |= (<uint64_t> 2) << i
            key[i + 1].bits = 0
        else:
            key[i + 1].bits = event.body[self.sources[i].cell]
    key[0].l = bucket
    if self.finest.running.keys.find(key, nulls) != NO_ID:
        return True
    if self.unreserved:
        reserve_all(self)
    for i in range(1, len(self.levels)):
        level = <Level> self.levels[i]
        key[0].l = self.bucket_of(level, bucket)
        n += level.ahead.find(key, nulls) == NO_ID
    if rows_held(self) + n > self.limit.most and not drop_rows(self, n):
        return refuse_row(self, event)
    for i in range(1, len(self.levels)):
        level = <Level> self.levels[i]
        key[0].l = self.bucket_of(level, bucket)
        level.ahead.insert(key, nulls, &is_new)
    self.limit.allows(rows_held(self) + 1)         # logs the warning about many rows
    return True


cdef bint refuse_row(Aggregation self, EventC* event) except -1:
    cdef int i
    cdef EventC* row = self.make_row(event, 0)
    try:
        group = tuple([
            cell_to_python(row, self.groups[i].word, self.groups[i].bit, self.groups[i].cell,
                           self.finest.running.keys.types[i + 1])
            for i in range(self.n_groups)
        ])
    finally:
        release(self.fold.pool, row)
    error = self.limit.refuse(group if group else None)
    if error is None:
        return False
    if not self.refusals.collects:
        raise error
    if self.refusals.pending is None:
        self.refusals.pending = error
    return False


cdef bint drop_rows(Aggregation self, Py_ssize_t n) except -1:
    """Make room for n rows by dropping rows of completed buckets, the finest and of these the oldest first: they are
    contained in coarser rows. Return False if there are too few."""
    cdef Level level
    cdef Py_ssize_t left = 0
    if self.limit.on_full != DROP_OLDEST:
        return False
    for level in self.levels:
        if level.table is not None and not level.table.searching:
            left += len(level.table)
    if rows_held(self) + n - left > self.limit.most:
        return False
    for level in self.levels:
        # While a condition over the table is being evaluated, it must not change.
        while level.table is not None and not level.table.searching and level.table.first != NO_ROW:
            if rows_held(self) + n <= self.limit.most:
                return True
            level.table.remove(level.table.first)
            self.limit.drop()
    return True


cdef Py_ssize_t rows_held(Aggregation self) except -1:
    """Return the number of rows in memory, with those that running rows will make of coarser buckets if there is a limit."""
    cdef Level level
    cdef Py_ssize_t held = 0
    for level in self.levels:
        held += level.running.keys.size if level.ahead is None else level.ahead.size
        if level.table is not None:
            held += len(level.table)
    return held


cdef int reserve_all(Aggregation self) except -1:
    """Compute the rows that will run, after the running rows were replaced."""
    cdef Level level, finer
    cdef CellC key[MAX_WIDTH]
    cdef uint64_t nulls
    cdef uint32_t row_id
    cdef int i, j
    cdef bint is_new = False
    cdef EventC* row
    for i in range(1, len(self.levels)):
        level = <Level> self.levels[i]
        level.ahead.clear()
        for j in range(i + 1):
            finer = <Level> self.levels[j]
            for row_id in range(finer.running.keys.id_bound()):
                row = finer.running.rows[row_id]
                nulls = self.key_of(row, self.bucket_of(level, (<CellC*> &row.body[self.time_cell]).l), key)
                level.ahead.insert(key, nulls, &is_new)
    self.unreserved = False
    return 0
