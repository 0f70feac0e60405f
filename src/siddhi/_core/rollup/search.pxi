# Reading aggregations: on-demand queries and joins.

cdef extern from "siddhi/text.h":
    bint siddhi_same_text(void* a, void* b)


@cython.final
@cython.no_gc_clear
cdef class AggregationSearch(Searchable):
    """A request to an aggregation.

    Args:
        aggregation: the aggregation read.
        slot: slot in which the condition reads a result row.
        condition: condition over the result row and other slots, or None.
        within: (start, end) in ms; or the executors of one or two values, converted by ``range_of``.
        range_of: fn(one value or two) -> (start, end).
        per: index of the level; or the executor of a text, converted by ``level_of``.
        level_of: fn(text) -> index.
        gates: (index of an attribute of the group, executor of a plain value of the same type): result rows that meet the
            condition have equal values here. Other rows are not merged.
    """

    def __init__(self, Aggregation aggregation not None, int slot, Executor condition, tuple within not None, range_of,
                 per not None, level_of, key_filters=()):
        cdef int i, number
        cdef Executor executor
        self.aggregation = aggregation
        self.pool = aggregation.fold.answers
        self.slot = slot
        self.condition = condition
        self.range_of = range_of
        self.level_of = level_of
        if isinstance(within[0], int):
            self.range = within
        else:
            self.first = within[0]
            self.second = within[1] if len(within) > 1 else None
        self.key_filter_executors = tuple([value for _, value in key_filters])
        self.key_filters = <KeyFilterC*> PyMem_Malloc(max(1, len(key_filters)) * sizeof(KeyFilterC))
        if self.key_filters is NULL:
            raise MemoryError
        for i, (number, executor) in enumerate(key_filters):
            self.key_filters[i].cell = aggregation.groups[number].cell
            self.key_filters[i].word = aggregation.groups[number].word
            self.key_filters[i].bit = aggregation.groups[number].bit
            self.key_filters[i].code = executor.type
            self.key_filters[i].x = &executor.c
        self.n_key_filters = len(key_filters)
        self.level = -1
        if isinstance(per, int):
            self.level = per
        else:
            self.per = per

    def __dealloc__(self):
        PyMem_Free(self.key_filters)

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        cdef EventChunk answers
        chunk_clear(&answers)
        # Only events wait for an unavailable store; a direct read fails.
        self.answer(NULL, frame, &answers, False)
        try:
            while answers.head is not NULL:
                found_add(found, answers.head)
                chunk_pop(&answers)
        finally:
            chunk_release(&answers, self.pool)
        return 0

    cdef int answer(self, EventC* event, FrameC* frame, EventChunk* out, bint waits=True) except -1:
        """Append the result rows in order of the first appearance of their buckets; the caller owns them. `out` must be
        empty.

        Args:
            event: the requesting event, for the range; NULL if the range reads none.
            waits: wait for an unavailable store; otherwise raise an error.
        """
        cdef EventChunk made
        cdef EventC* row
        cdef int at = self.level
        cdef EventPool pool = self.aggregation.fold.answers
        within = self.range
        if within is None:
            within = (evaluate_to_python(self.first, event, frame),)
            if self.second is not None:
                within += (evaluate_to_python(self.second, event, frame),)
            within = self.range_of(*within)
        if at < 0:
            at = self.level_of(evaluate_to_python(self.per, event, frame))
        chunk_clear(&made)
        try:
            if self.evaluate_key_filters(event, frame):
                self.set_waiting(waits)
                try:
                    self.gather(at, within[0], within[1], frame, &made)
                finally:
                    self.set_waiting(True)
            # From here on Python code may run: no one else holds the rows.
            while made.head is not NULL:
                row = chunk_pop(&made)
                if self.condition is not None:
                    frame.slots[self.slot] = row
                    try:
                        if evaluate_condition(&self.condition.c, row, frame) != TRUE:
                            release(pool, row)
                            continue
                    except BaseException:
                        release(pool, row)
                        raise
                chunk_append(out, row)
        except BaseException:
            chunk_release(&made, pool)
            chunk_release(out, pool)
            raise
        return 0

    cdef int set_waiting(self, bint waits) except -1:
        cdef Level level
        for level in self.aggregation.levels:
            if level.store is not None:
                level.store.set_waiting(waits)
        return 0

    cdef bint evaluate_key_filters(self, EventC* event, FrameC* frame) except -1:
        """Evaluate the values that groups must equal; return False if one is null: no row matches."""
        cdef int i, status
        cdef KeyFilterC* key_filter
        for i in range(self.n_key_filters):
            key_filter = &self.key_filters[i]
            key_filter.value.bits = 0
            status = key_filter.x.fn(key_filter.x, event, frame, &key_filter.value)
            if status == NULL_VALUE:
                return False
        return True

    cdef bint passes(self, const EventC* row) noexcept:
        cdef int i
        cdef KeyFilterC* key_filter
        cdef const CellC* cell
        for i in range(self.n_key_filters):
            key_filter = &self.key_filters[i]
            if row.body[key_filter.word] & key_filter.bit:
                return False
            cell = <const CellC*> &row.body[key_filter.cell]
            if key_filter.code == STRING:
                if cell.o != key_filter.value.o and not siddhi_same_text(cell.o, key_filter.value.o):
                    return False
            elif key_filter.code == LONG:
                if cell.l != key_filter.value.l:
                    return False
            elif cell.i != key_filter.value.i:
                return False
        return True

    cdef int gather(self, int at, int64_t start, int64_t end, FrameC* frame, EventChunk* out) except -1:
        """Collect the rows of a level whose buckets begin in [start, end)."""
        cdef Aggregation aggregation = self.aggregation
        cdef Level requested = <Level> aggregation.levels[at]
        cdef Level level
        cdef Table table = requested.table
        cdef Rows rows = Rows(aggregation.fold.pool, requested.running.keys.types)
        cdef int64_t bucket
        cdef uint32_t number = NO_ROW if table is None else table.first, row_id
        cdef int i
        # Older rows first: of equal times the later row is the latest.
        while number != NO_ROW:
            bucket = (<CellC*> &table.rows[number].event.body[aggregation.time_cell]).l
            if start <= bucket < end and self.passes(table.rows[number].event):
                aggregation.merge_into(rows, bucket, table.rows[number].event)
            number = table.rows[number].next
        if requested.store is not None:
            aggregation.prepare()
            if aggregation.shared:
                self.gather_of_nodes(rows, at, start, end)
            elif aggregation.replaying:
                return self.gather_anew(rows, at, start, end, frame, out)
            else:
                self.merge_stored(rows, requested, requested.store.within(start, end), start, end)
        for i in range(at, at if aggregation.shared else -1, -1):
            level = <Level> aggregation.levels[i]
            for row_id in range(level.running.keys.id_bound()):
                bucket = (<CellC*> &level.running.rows[row_id].body[aggregation.time_cell]).l
                if i < at:
                    bucket = aggregation.bucket_of(requested, bucket)
                if start <= bucket < end and self.passes(level.running.rows[row_id]):
                    aggregation.merge_into(rows, bucket, level.running.rows[row_id])
        return self.finish(rows, frame, out)

    cdef int finish(self, Rows rows, FrameC* frame, EventChunk* out) except -1:
        cdef uint32_t row_id
        cdef Aggregation aggregation = self.aggregation
        for row_id in range(rows.keys.id_bound()):
            chunk_append(out, aggregation.fold.finish(
                rows.rows[row_id], (<CellC*> &rows.rows[row_id].body[aggregation.time_cell]).l, frame))
        return 0

    cdef int gather_anew(self, Rows rows, int at, int64_t start, int64_t end, FrameC* frame,
                         EventChunk* out) except -1:
        """Collect rows during a replay: running rows replace stored rows of their groups."""
        cdef Aggregation aggregation = self.aggregation
        cdef Level requested = <Level> aggregation.levels[at]
        cdef EventPool pool = aggregation.fold.pool
        cdef EventC* row
        cdef Rows touched = Rows(pool, rows.keys.types)
        cdef Rows remade = Rows(pool, rows.keys.types)
        cdef Rows tail = Rows(pool, rows.keys.types)
        cdef Rows more
        cdef uint32_t row_id
        cdef int64_t bucket
        anew(aggregation, at, touched, remade, tail)
        for record in requested.store.within(start, end):
            row = record_of(record, pool, pool.layout)
            try:
                bucket = (<CellC*> &row.body[aggregation.time_cell]).l
                if self.passes(row) and not ((<CellC*> &row.body[pool.layout.words]).l == requested.start
                                             and has_row(aggregation, touched, row, bucket)):
                    aggregation.merge_into(rows, bucket, row)
            finally:
                release(pool, row)
        for more in (remade, tail):
            for row_id in range(more.keys.id_bound()):
                bucket = (<CellC*> &more.rows[row_id].body[aggregation.time_cell]).l
                if start <= bucket < end and self.passes(more.rows[row_id]):
                    aggregation.merge_into(rows, bucket, more.rows[row_id])
        return self.finish(rows, frame, out)

    cdef int gather_of_nodes(self, Rows rows, int at, int64_t start, int64_t end) except -1:
        """Collect the stored rows of all nodes: of this level, and of finer levels what a row's node has not rolled up
        yet.

        Rows that nodes store meanwhile are left out, so that no row counts twice."""
        cdef Aggregation aggregation = self.aggregation
        cdef Level requested = <Level> aggregation.levels[at], level = requested
        cdef int i, length
        cdef dict starts = {}
        newest = requested.store.newest_of_nodes()
        self.merge_stored(rows, requested, requested.store.within(start, end, newest), start, end)
        for i in range(at - 1, -1, -1):
            length = level.length
            for node, time in newest.items():
                # If rows of a level were purged, a coarser level says how far its node has come.
                over = aggregation.calendar.bucket(length, time)[1]
                starts[node] = max(over, starts.get(node, over))
            level = <Level> aggregation.levels[i]
            newest = level.store.newest_of_nodes()
            self.merge_stored(rows, requested, level.store.between(starts, newest), start, end)
        return 0

    cdef int merge_stored(self, Rows rows, Level requested, records, int64_t start, int64_t end) except -1:
        """Merge rows from a store into the buckets of a level that begin in [start, end)."""
        cdef Aggregation aggregation = self.aggregation
        cdef EventPool pool = aggregation.fold.pool
        cdef EventC* row
        cdef int64_t bucket
        for record in records:
            row = record_of(record, pool, pool.layout)
            try:
                bucket = aggregation.bucket_of(requested, (<CellC*> &row.body[aggregation.time_cell]).l)
                if start <= bucket < end and self.passes(row):
                    aggregation.merge_into(rows, bucket, row)
            finally:
                release(pool, row)
        return 0


@cython.final
@cython.no_gc_clear
cdef class AggregationJoin(Processor):
    """Joins the events that leave a side's window with the results of an aggregation.

    Args:
        app: context of the app.
        own: slot of this side's events, 0 (left) or 1 (right).
        search: the request, with the join condition.
        outer: events without a match are passed on with the other side null.
        joins_expired: expired events trigger, too.
        parts: the selection if it aggregates, orders or limits: the matches of one event are a part.
    """

    def __init__(self, AppContext app not None, int own, AggregationSearch search not None, bint outer,
                 bint joins_expired, JoinSelector parts):
        self.app = app
        self.own = own
        self.search = search
        self.outer = outer
        self.joins_expired = joins_expired
        self.parts = parts

    cdef int process(self, EventC* event) except -1:
        cdef FrameC* frame = &self.app.frame
        cdef EventC* slots[2]
        cdef EventC** before = frame.slots
        cdef EventChunk answers
        cdef EventC* row
        cdef int opposite = 1 - self.own
        cdef int64_t start
        if event.type == EXPIRED and not self.joins_expired:
            return 0
        chunk_clear(&answers)
        slots[self.own] = event
        slots[opposite] = NULL
        frame.slots = slots
        frame.type = event.type
        frame.group = frame.partition
        try:
            if self.search.meter is not None and self.search.meter.on:
                start = self.search.meter.begin()
                self.search.answer(event, frame, &answers)
                self.search.meter.end(start, 1)
            else:
                self.search.answer(event, frame, &answers)
            if answers.head is NULL:
                if self.outer:
                    slots[opposite] = NULL
                    self.next.process(event)
            else:
                row = answers.head
                while row is not NULL:
                    slots[opposite] = row
                    self.next.process(event)
                    row = row.next
        finally:
            frame.slots = before
            chunk_release(&answers, self.search.aggregation.fold.answers)
        return 0 if self.parts is None else self.parts.end_part()
