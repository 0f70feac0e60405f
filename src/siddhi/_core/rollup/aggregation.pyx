"""Incremental aggregations: folding of events and roll-up of rows."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.set cimport PySet_Add, PySet_GET_SIZE
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from siddhi._core.expression.executor cimport VARIABLE, Executor, evaluate_condition, evaluate_to_python
from siddhi._core.index.hash_index cimport GOLDEN, MAX_WIDTH, NO_ID
from siddhi._core.record.chunk cimport chunk_append, chunk_clear, chunk_pop, chunk_release
from siddhi._core.record.event cimport (
    BOOL, DOUBLE, EXPIRED, FLOAT, INT, LONG, OBJECT, STRING, CellC, EventC, EventPool, Layout, acquire, cell_to_python,
    copy_event, event_to_tuple, release, retain,
)
from siddhi._core.record.frame cimport NULL_VALUE, TRUE, now_ms
from siddhi._core.record.instant cimport is_instant, refuse_instant
from siddhi._core.record.user_event cimport record_of
from siddhi._core.runtime.context cimport TICKS_IN_A_ROW, AppContext, restored_tick
from siddhi._core.runtime.key_limit cimport DROP_OLDEST, KeyLimit, Refusals
from siddhi._core.runtime.lock cimport lock_app, unlock_app
from siddhi._core.runtime.lookup cimport FoundC, found_add
from siddhi._core.runtime.operator cimport BlockTraits, Processor, refuse_blocks
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.table.index cimport NO_ROW
from siddhi._core.table.table cimport Table

include "calendar.pxi"
include "fold.pxi"
include "limit.pxi"
include "restart.pxi"
include "search.pxi"
include "purge.pxi"


NEVER = <int64_t> -9223372036854775807 - 1

cdef int64_t NOT_ORDERED = <int64_t> -9223372036854775807 - 1


@cython.final
@cython.no_gc_clear
cdef class Rows:
    """Rows by bucket and group.

    Args:
        pool: pool of the rows.
        types: types of the key: the bucket, then the group.
    """

    def __init__(self, EventPool pool not None, types):
        self.pool = pool
        self.keys = KeyMap(types)

    def __dealloc__(self):
        cdef uint32_t row_id
        if self.keys is not None and self.rows is not NULL:
            for row_id in range(self.keys.id_bound()):
                release(self.pool, self.rows[row_id])
        PyMem_Free(self.rows)

    cdef uint32_t id_of(self, const CellC* key, uint64_t nulls, bint* is_new) except? 0xfffffffe:
        """Return the row id of a key. The caller must store the row of a new key before anything else happens."""
        cdef Py_ssize_t capacity
        cdef EventC** rows
        if self.keys.size == self.capacity:
            capacity = max(16, 2 * self.capacity)
            rows = <EventC**> PyMem_Realloc(self.rows, capacity * sizeof(EventC*))
            if rows is NULL:
                raise MemoryError
            self.rows = rows
            self.capacity = capacity
        return self.keys.insert(key, nulls, is_new)

    cdef int clear(self) except -1:
        cdef uint32_t row_id, n = self.keys.id_bound()
        for row_id in range(n):
            release(self.pool, self.rows[row_id])
        return self.keys.clear()


@cython.final
@cython.no_gc_clear
cdef class Level:
    """The rows of one bucket length.

    Args:
        length: bucket length.
        rows: table or store of the rows of completed buckets.
        pool: pool of the rows.
        types: types of the rows' keys.
    """

    def __init__(self, int length, rows not None, EventPool pool not None, types):
        self.length = length
        if isinstance(rows, Table):
            self.table = rows
        else:
            self.store = rows
        self.until = NEVER
        self.running = Rows(pool, types)

    @property
    def running_rows(self):
        """Number of rows of the current bucket."""
        return self.running.keys.size


@cython.final
@cython.no_gc_clear
cdef class Aggregation(Processor):
    """Folds the events of one stream into rows.

    Args:
        app: context of the app.
        id: name of the aggregation.
        fold: computation of rows.
        tables: (length, table or store) of each level, finest first.
        calendar: boundaries of buckets.
        by: executor of the time of an event, long or string; None: the app's clock.
        group: executor of each attribute to group by.
        first_group: position of the first group attribute in the rows; the attribute before it determines a row's bucket.
        shared: stores hold rows of several nodes.
    """

    def __init__(self, AppContext app not None, str id not None, Fold fold not None, tables, Calendar calendar not None,
                 Executor by, group, int first_group, bint shared=False):
        cdef int i
        cdef Executor executor
        cdef Layout layout = fold.pool.layout
        self.app = app
        self.id = id
        self.fold = fold
        self.calendar = calendar
        self.by = by
        self.by_text = by is not None and by.type == STRING
        self.due = NOT_ORDERED
        self.time_cell = layout.cell(first_group - 1)
        self.n_groups = len(group)
        self.groups = <KeyFieldC*> PyMem_Malloc(max(1, self.n_groups) * sizeof(KeyFieldC))
        self.sources = <KeyFieldC*> PyMem_Malloc(max(1, self.n_groups) * sizeof(KeyFieldC))
        self.group_objects = <int*> PyMem_Malloc(max(1, self.n_groups) * sizeof(int))
        self.hints = <uint32_t*> PyMem_Malloc(HINTS * sizeof(uint32_t))
        if self.groups is NULL or self.sources is NULL or self.group_objects is NULL or self.hints is NULL:
            raise MemoryError
        memset(self.hints, 0, HINTS * sizeof(uint32_t))
        types = [LONG]
        for i in range(self.n_groups):
            executor = group[i]
            self.groups[i].cell = layout.cell(first_group + i)
            self.groups[i].word = layout.null_word(first_group + i)
            self.groups[i].bit = (<uint64_t> 1) << ((first_group + i) & 63)
            self.sources[i].cell = executor.c.cell
            self.sources[i].word = executor.c.word
            self.sources[i].bit = executor.c.bit
            self.group_objects[i] = executor.type == STRING
            types.append(executor.type)
        self.retains = OBJECT in layout.types
        self.levels = tuple([Level(length, rows, fold.pool, types) for length, rows in tables])
        self.finest = self.levels[0]
        self.shared = shared
        self.unprepared = self.finest.store is not None
        self.refusals = Refusals()

    def __dealloc__(self):
        PyMem_Free(self.groups)
        PyMem_Free(self.sources)
        PyMem_Free(self.group_objects)
        PyMem_Free(self.hints)

    def set_limit(self, KeyLimit limit not None):
        """Limit the rows in memory. Call it before the first event."""
        cdef Level level
        self.limit = limit
        for level in self.levels[1:]:
            level.ahead = KeyMap(level.running.keys.types)

    @property
    def held(self):
        """Number of rows in memory; with a limit it includes those that running rows will make of coarser buckets."""
        if self.limit is not None and self.unreserved:
            reserve_all(self)
        return rows_held(self)

    # --- events

    cdef int process(self, EventC* event) except -1:
        return self.take(event, now_ms(&self.app.frame))

    cdef int process_one(self, EventC* event) except -1:
        cdef bint collects = self.refusals.collects
        # A function that a chunk runs may send this event: it is not part of the chunk.
        self.refusals.collects = False
        try:
            return self.take(event, now_ms(&self.app.frame))
        finally:
            self.refusals.collects = collects

    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1:
        cdef int64_t now = now_ms(&self.app.frame)
        cdef bint collects = self.refusals.collects
        self.refusals.collects = False
        try:
            while at[0] < n:
                self.take(events[at[0]], now)
                at[0] += 1
        finally:
            self.refusals.collects = collects
        return 0

    cdef int reset(self, int64_t timestamp) except -1:
        return 0

    cdef int finish(self) except -1:
        return 0

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        refuse_blocks(traits)
        traits.order_free = not self.app.frame.playback
        return 0

    cdef int take(self, EventC* event, int64_t now) except -1:
        cdef int64_t time, bucket
        cdef EventC* row
        cdef EventC* computed = NULL
        cdef FrameC* frame = &self.app.frame
        if self.fold.computes:
            frame.type = event.type
            frame.group = frame.partition
            computed = self.fold.computed(event, frame)
        try:
            time = now if self.by is None else self.time_of(event)
            if now >= self.finest.end or self.resumed:
                self.prepare(True)
                if self.undecided:
                    decide(self, now)
                self.roll(now)
            bucket = self.bucket_of(self.finest, time)
            if self.limit is not None and not has_room(self, event, bucket):
                return 0
            row = self.row_for(event, bucket)
            if self.retains:
                retain(self.fold.pool, row)
            self.fold.add(row, event, computed, time)
            if self.retains:
                release(self.fold.pool, row)
        finally:
            if computed is not NULL:
                release(self.fold.pool, computed)
        return 0

    cdef int64_t time_of(self, EventC* event) except? -1:
        """Return the event time given by `by`."""
        if event.body[self.by.c.word] & self.by.c.bit:
            raise ValueError(f"aggregation '{self.id}': the time of an event must not be null")
        if self.by_text:
            return time_of_text(<str> <PyObject*> event.body[self.by.c.cell])
        if not is_instant((<CellC*> &event.body[self.by.c.cell]).l):
            refuse_instant((<CellC*> &event.body[self.by.c.cell]).l, f"aggregation '{self.id}': the time of an event,")
        return (<CellC*> &event.body[self.by.c.cell]).l

    cdef inline int64_t bucket_of(self, Level level, int64_t time) except? -1:
        """Return the start of a level's bucket that contains a time."""
        if not level.known_start <= time < level.known_end:
            self.calendar.bounds(level.length, time, &level.known_start, &level.known_end)
        return level.known_start

    cdef EventC* row_for(self, EventC* event, int64_t bucket) except NULL:
        """Return the running row of the finest level for an event; create it if needed."""
        cdef CellC key[MAX_WIDTH]
        cdef Rows running = self.finest.running
        cdef uint64_t nulls = 0, hash = <uint64_t> bucket * GOLDEN
        cdef uint32_t row_id
        cdef uint32_t* hint
        cdef int i
        cdef bint is_new = False
        cdef EventC* row
        for i in range(self.n_groups):
            if event.body[self.sources[i].word] & self.sources[i].bit:
                nulls |= (<uint64_t> 2) << i
            hash = (hash ^ event.body[self.sources[i].cell]) * GOLDEN
        hint = &self.hints[hash >> 56]
        if not nulls and hint[0] < running.keys.id_bound():
            row = running.rows[hint[0]]
            i = 0
            while i < self.n_groups and row.body[self.groups[i].cell] == event.body[self.sources[i].cell] and not (
                    row.body[self.groups[i].word] & self.groups[i].bit):
                i += 1
            if i == self.n_groups and (<CellC*> &row.body[self.time_cell]).l == bucket:
                return row
        key[0].l = bucket
        for i in range(self.n_groups):
            key[i + 1].bits = 0 if nulls >> (i + 1) & 1 else event.body[self.sources[i].cell]
        row_id = running.id_of(key, nulls, &is_new)
        if is_new:
            try:
                running.rows[row_id] = self.make_row(event, bucket)
            except BaseException:
                running.keys.remove(row_id)
                raise
            if self.due == NOT_ORDERED or self.due > self.finest.end:
                self.order()
        hint[0] = row_id
        return running.rows[row_id]

    cdef EventC* make_row(self, EventC* event, int64_t bucket) except NULL:
        cdef int i
        cdef Layout layout = self.fold.pool.layout
        cdef EventC* row = acquire(self.fold.pool)
        row.timestamp = bucket
        memset(row.body, 0, 8 * layout.words)
        # With `by` the first time is that of the roll-up; the second, before the group, is the bucket.
        (<CellC*> &row.body[layout.words]).l = self.finest.start
        (<CellC*> &row.body[self.time_cell]).l = bucket
        for i in range(self.n_groups):
            if event.body[self.sources[i].word] & self.sources[i].bit:
                row.body[self.groups[i].word] |= self.groups[i].bit
                continue
            row.body[self.groups[i].cell] = event.body[self.sources[i].cell]
            if self.group_objects[i]:
                Py_INCREF(<object> <PyObject*> row.body[self.groups[i].cell])
        try:
            self.fold.begin(row)
        except BaseException:
            release(self.fold.pool, row)
            raise
        return row

    # --- roll-up

    cdef int roll(self, int64_t now) except -1:
        """Roll up all completed buckets, and open those that contain this time."""
        cdef Level level
        cdef int i, n = len(self.levels)
        # A store may bring rows, and after a restart a coarser bucket may be over before finer ones.
        self.unreserved = self.unreserved or self.finest.store is not None
        for i in range(n):
            level = <Level> self.levels[i]
            if level.table is not None and level.table.searching:
                # A condition over the table is being evaluated further up the stack: it must not change. The next event
                # or timer tries again.
                return 0
        if self.replaying:
            roll_anew(self, now)
            if self.replaying:
                return 0
        for i in range(n):
            level = <Level> self.levels[i]
            if now < level.end:
                # A coarser bucket may be over nevertheless: after a restart it is where the previous run left it.
                continue
            if level.running.keys.size:
                self.flush(level, <Level> self.levels[i + 1] if i + 1 < n else None)
            self.calendar.bounds(level.length, now, &level.start, &level.end)
        return 0

    cdef int flush(self, Level level, Level coarser) except -1:
        """Merge the running rows into the next level and store them in the table."""
        cdef uint32_t row_id
        cdef EventC* row
        cdef Rows running = level.running
        if self.purge is not None:
            self.purge.note_rows()
        self.stamp(level)
        if level.store is not None:
            # Written first, because it may fail: then nothing has changed.
            self.write_to_store(level)
        for row_id in range(running.keys.id_bound()):
            row = running.rows[row_id]
            if coarser is not None:
                self.merge_into(coarser.running, self.bucket_of(coarser, (<CellC*> &row.body[self.time_cell]).l), row)
        for row_id in range(running.keys.id_bound() if level.store is None else 0):
            row = running.rows[row_id]
            if row.flags == 0 and row.refs == 1:
                level.table.insert(row)
            else:
                row = self.fold.clone(row)
                try:
                    level.table.insert(row)
                finally:
                    release(self.fold.pool, row)
        running.clear()
        if level.ahead is not None:
            level.ahead.clear()
        return 0

    cdef void stamp(self, Level level) noexcept:
        """Write the time of the roll-up into the running rows, if it differs from their bucket."""
        cdef uint32_t row_id
        cdef Rows running = level.running
        cdef int first = self.fold.pool.layout.words
        if self.by is not None:
            for row_id in range(running.keys.id_bound()):
                (<CellC*> &running.rows[row_id].body[first]).l = level.start

    cdef int write_to_store(self, Level level) except -1:
        """Write the running rows to a store."""
        cdef uint32_t row_id
        cdef Rows running = level.running
        cdef int first = self.fold.pool.layout.words
        records = [event_to_tuple(running.rows[row_id], self.fold.pool.layout) for row_id in range(running.keys.id_bound())]
        buckets = {(<CellC*> &running.rows[row_id].body[first]).l for row_id in range(running.keys.id_bound())}
        level.store.replace(sorted(buckets), records)
        return 0

    cdef int prepare(self, bint has_event=False) except -1:
        """Initialize the levels from stores before rows are read or rolled up."""
        self.unreserved = self.unreserved or self.unprepared or self.resumed
        if self.unprepared:
            start_from_store(self, now_ms(&self.app.frame), has_event)
        elif self.resumed:
            reconcile(self, now_ms(&self.app.frame))
        return 0

    cdef uint64_t key_of(self, const EventC* row, int64_t bucket, CellC* key) noexcept:
        cdef int i
        cdef uint64_t nulls = 0
        key[0].l = bucket
        for i in range(self.n_groups):
            if row.body[self.groups[i].word] & self.groups[i].bit:
                nulls |= (<uint64_t> 2) << i
                key[i + 1].bits = 0
            else:
                key[i + 1].bits = row.body[self.groups[i].cell]
        return nulls

    cdef int merge_into(self, Rows rows, int64_t bucket, EventC* row) except -1:
        """Merge a row into the rows of another level or of a result. A row with another owner is copied first."""
        cdef CellC key[MAX_WIDTH]
        cdef bint is_new = False
        cdef uint64_t nulls = self.key_of(row, bucket, key)
        cdef uint32_t row_id = rows.id_of(key, nulls, &is_new)
        cdef EventC* own
        if is_new:
            try:
                own = self.fold.clone(row)
            except BaseException:
                rows.keys.remove(row_id)
                raise
            own.timestamp = bucket
            (<CellC*> &own.body[self.time_cell]).l = bucket
            rows.rows[row_id] = own
            return 0
        return self.fold.merge(rows.rows[row_id], row)

    # --- timers

    cdef int order(self) except -1:
        """Schedule a timer at the end of the finest bucket that has rows."""
        cdef Level level
        cdef int64_t when = NOT_ORDERED
        for level in self.levels:
            if level.running.keys.size and (when == NOT_ORDERED or level.end < when):
                when = level.end
        if when != NOT_ORDERED and when <= now_ms(&self.app.frame):
            # The roll-up was postponed: try again when time has advanced.
            when = now_ms(&self.app.frame) + 1
        if when != NOT_ORDERED and (self.due == NOT_ORDERED or when < self.due):
            self.due = when
            self.app.schedule(self, when, 0)
        return 0

    cdef int on_timer(self, int64_t when) except -1:
        if when != self.due:
            return 0
        self.due = NOT_ORDERED
        self.prepare()
        if self.undecided:
            return 0
        self.roll(now_ms(&self.app.frame))
        return self.order()

    cdef bint is_idle(self, uint32_t partition) noexcept:
        # Rows of coarser buckets are visible before they are rolled up, too.
        return True

    # --- state

    def settle(self):
        """Store the coarser rows replayed so far, when the app ends during a replay.

        Raises:
            Exception: raised by the store.
        """
        cdef Level level
        lock_app(self.app.lock)
        try:
            if self.replaying and not self.undecided:
                settle(self, [(level.running, level.start, level.end) for level in self.levels])
        finally:
            unlock_app(self.app.lock)

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef Level level
        cdef Rows running
        cdef int i
        cdef bint is_new = self.unprepared or (self.undecided and self.stash is None)
        if self.finest.store is not None:
            writer.put_bool(is_new)
            writer.put_bool(self.replaying if self.stash is None else self.stash_replaying)
        for i in range(len(self.levels)):
            level = <Level> self.levels[i]
            if is_new:
                # Stored rows only.
                running, start, end = Rows(self.fold.pool, level.running.keys.types), 0, 0
            elif self.stash is None:
                running, start, end = level.running, level.start, level.end
            else:
                running, start, end = self.stash[i]
            writer.put_due(start)
            writer.put_due(end)
            writer.put_events(running.rows, running.keys.size, self.fold.pool.layout)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef Level level
        cdef EventC** events
        cdef Py_ssize_t i, n
        cdef int64_t start, end
        self.due = NOT_ORDERED
        if self.finest.store is not None:
            self.unprepared = reader.get_bool()
            self.resumed = not self.unprepared
            self.replaying = reader.get_bool()
            self.undecided = False
            self.stash = None
        for level in self.levels:
            start, end = reader.get_due(), reader.get_due()
            events = NULL
            n = reader.get_events(self.fold.pool, &events)
            try:
                level.running.clear()
                for i in range(n):
                    self.merge_into(level.running, (<CellC*> &events[i].body[self.time_cell]).l, events[i])
            finally:
                for i in range(n):
                    release(self.fold.pool, events[i])
                PyMem_Free(events)
            level.start, level.end = start, end
            level.standing = None
        self.unreserved = True
        if self.resumed and self.finest.end == 0:
            # There were no events at the snapshot: running rows come from stores.
            self.unprepared, self.resumed = True, False
        return self.order()
