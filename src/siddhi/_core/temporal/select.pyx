"""Filter and projection, changes of lifetimes."""

cimport cython
from libc.stdint cimport int64_t, uint32_t

from sys import exc_info

from siddhi._core.expression.executor cimport Executor, evaluate_condition
from siddhi._core.record.event cimport EventC, EventPool, release
from siddhi._core.record.frame cimport VALUE
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.temporal.lifetime cimport (
    END, FOREVER, START, TIME_MAX, TIME_MIN, LifetimeC, TemporalOperator, get_lifetime, get_size, put_lifetime,
    refuse_damage, release_lifetime, shifted,
)
from siddhi._core.temporal.rows cimport (
    OutputMap, RowMaker, map_clear, map_drop, map_find, map_read, map_set, map_write,
)
from siddhi.errors import CtiViolation


@cython.final
@cython.no_gc_clear
cdef class Select(TemporalOperator):
    """Filters rows and makes new ones; lifetimes and CTIs pass at once.

    Args:
        app: context of the app.
        lifetimes: of the app.
        conditions: filters, in order.
        rows: makes the output rows; None: rows pass as they are.
    """

    cdef tuple conditions
    cdef RowMaker rows
    cdef OutputMap out

    def __init__(self, app, lifetimes, tuple conditions not None, RowMaker rows):
        TemporalOperator.__init__(self, app, lifetimes, 1)
        self.conditions = conditions
        self.rows = rows
        self.row_pool = rows.pool
        self.out = OutputMap(self.lifetimes)

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        cdef LifetimeC* made
        if kind == END:
            made = map_find(self.out, lifetime.index)
            if made is not NULL:
                made.end = lifetime.end
                try:
                    self.emit(END, made)
                finally:
                    map_drop(self.out, lifetime.index)
            return 0
        made = self.selected(lifetime)
        if made is NULL:
            map_drop(self.out, lifetime.index)
            return 0
        try:
            made.flags |= lifetime.flags & FOREVER
            if not made.flags & FOREVER:
                map_set(self.out, lifetime.index, made)
            self.emit(START, made)
        finally:
            release_lifetime(self.lifetimes, made)
        return 0

    cdef LifetimeC* selected(self, LifetimeC* lifetime) except? NULL:
        """Return the lifetime of the new row, owned; NULL: a filter rejects the row, or its evaluation failed."""
        cdef Executor condition
        cdef EventC* row
        cdef LifetimeC* made
        try:
            self.rows.look_at(lifetime.row, NULL, lifetime.start, TIME_MAX, 0)
            for condition in self.conditions:
                if not evaluate_condition(&condition.c, lifetime.row, self.frame):
                    return NULL
            row = self.rows.make(lifetime.row)
            if row is NULL:
                return NULL
            try:
                made = self.lifetimes.acquire(self.rows.pool, row, lifetime.start, TIME_MAX)
            finally:
                release(self.rows.pool, row)
        except Exception:
            self.report(<EventPool> lifetime.pool, lifetime.row)
            return NULL
        return made

    cdef int advance(self, int input, int64_t cti) except -1:
        self.frontier = max(self.frontier, cti)
        return self.promise(cti)

    cdef int write(self, SnapshotWriter writer) except -1:
        TemporalOperator.write(self, writer)
        return map_write(self.out, writer)

    cdef int read(self, SnapshotReader reader) except -1:
        self.clear()
        TemporalOperator.read(self, reader)
        return map_read(self.out, reader, self.row_pool)

    cdef int clear(self) except -1:
        TemporalOperator.clear(self)
        map_clear(self.out)
        return 0


@cython.final
@cython.no_gc_clear
cdef class SelectClosed(TemporalOperator):
    """Makes new rows that may contain the end of their lifetime: a row is emitted, START and END, when its end is known.

    So its START may be before the output frontier; what gets it must only look at closed lifetimes.

    Args:
        app: context of the app.
        lifetimes: of the app.
        conditions: filters, in order.
        rows: makes the output rows.
    """

    cdef tuple conditions
    cdef RowMaker rows
    cdef OutputMap kept            # rows that pass the filters and are not closed

    def __init__(self, app, lifetimes, tuple conditions not None, RowMaker rows not None):
        TemporalOperator.__init__(self, app, lifetimes, 1)
        self.conditions = conditions
        self.rows = rows
        self.row_pool = rows.pool
        self.kept = OutputMap(self.lifetimes)

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        if kind == START:
            map_drop(self.kept, lifetime.index)
            if not self.passes(lifetime):
                return 0
            if lifetime.flags & FOREVER:
                return self.give(lifetime, TIME_MAX)
            return map_set(self.kept, lifetime.index, lifetime)
        if map_find(self.kept, lifetime.index) is NULL:
            return 0
        try:
            self.give(lifetime, lifetime.end)
        finally:
            map_drop(self.kept, lifetime.index)
        return 0

    cdef bint passes(self, LifetimeC* lifetime) except -1:
        cdef Executor condition
        try:
            self.rows.look_at(lifetime.row, NULL, lifetime.start, TIME_MAX, 0)
            for condition in self.conditions:
                if not evaluate_condition(&condition.c, lifetime.row, self.frame):
                    return False
        except Exception:
            self.report(<EventPool> lifetime.pool, lifetime.row)
            return False
        return True

    cdef int give(self, LifetimeC* lifetime, int64_t end) except -1:
        """Emit the new row of a lifetime with this end."""
        cdef EventC* row
        cdef LifetimeC* made
        try:
            self.rows.look_at(lifetime.row, NULL, lifetime.start, end, 0)
            row = self.rows.make(lifetime.row)
            if row is NULL:
                return 0
            try:
                made = self.lifetimes.acquire(self.rows.pool, row, lifetime.start, end)
            finally:
                release(self.rows.pool, row)
        except Exception:
            return self.report(<EventPool> lifetime.pool, lifetime.row)
        try:
            made.flags |= FOREVER if end == TIME_MAX else 0
            self.emit(START, made)
            if end != TIME_MAX:
                self.emit(END, made)
        finally:
            release_lifetime(self.lifetimes, made)
        return 0

    cdef int advance(self, int input, int64_t cti) except -1:
        cdef uint32_t index
        self.frontier = max(self.frontier, cti)
        if cti == TIME_MAX:
            for index in range(self.kept.capacity):       # what has not ended by now never ends
                if self.kept.out[index] is not NULL:
                    self.give(self.kept.out[index], TIME_MAX)
            map_clear(self.kept)
        return self.promise(cti)

    cdef int write(self, SnapshotWriter writer) except -1:
        TemporalOperator.write(self, writer)
        return map_write(self.kept, writer)

    cdef int read(self, SnapshotReader reader) except -1:
        self.clear()
        TemporalOperator.read(self, reader)
        return map_read(self.kept, reader, self.input_pools[0])

    cdef int clear(self) except -1:
        TemporalOperator.clear(self)
        map_clear(self.kept)
        return 0


@cython.final
@cython.no_gc_clear
cdef class Shift(TemporalOperator):
    """Moves lifetimes and CTIs by a constant.

    Args:
        by: ms.
    """

    cdef int64_t by
    cdef OutputMap out

    def __init__(self, app, lifetimes, int64_t by):
        TemporalOperator.__init__(self, app, lifetimes, 1)
        self.by = by
        self.out = OutputMap(self.lifetimes)

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        cdef LifetimeC* made
        cdef int64_t start = shifted(lifetime.start, self.by), end = shifted(lifetime.end, self.by)
        if kind == END:
            made = map_find(self.out, lifetime.index)
            if made is not NULL:
                # A lifetime that saturates to nothing at MIN ends one tick after its start.
                made.end = max(end, made.start + 1)
                try:
                    if made.end != TIME_MAX:
                        self.emit(END, made)
                finally:
                    map_drop(self.out, lifetime.index)
            return 0
        if start == TIME_MAX:
            map_drop(self.out, lifetime.index)
            return 0
        try:
            made = self.lifetimes.acquire(<EventPool> lifetime.pool, lifetime.row, start, TIME_MAX)
        except Exception:
            map_drop(self.out, lifetime.index)
            return self.report(<EventPool> lifetime.pool, lifetime.row)
        try:
            made.flags |= lifetime.flags & FOREVER
            if not made.flags & FOREVER:
                map_set(self.out, lifetime.index, made)
            self.emit(START, made)
        finally:
            release_lifetime(self.lifetimes, made)
        return 0

    cdef int advance(self, int input, int64_t cti) except -1:
        self.frontier = max(self.frontier, cti)
        return self.promise(shifted(cti, self.by))

    cdef int write(self, SnapshotWriter writer) except -1:
        TemporalOperator.write(self, writer)
        return map_write(self.out, writer)

    cdef int read(self, SnapshotReader reader) except -1:
        self.clear()
        TemporalOperator.read(self, reader)
        return map_read(self.out, reader, self.row_pool)

    cdef int clear(self) except -1:
        TemporalOperator.clear(self)
        map_clear(self.out)
        return 0


@cython.final
@cython.no_gc_clear
cdef class AlterLifetime(TemporalOperator):
    """Gives rows new lifetimes [F(start), F(start) + D).

    Args:
        new_start: F, an expression of the start, in time order; None: the start stays.
        duration: D in ms; None: infinite.
        needs_end: whether D reads the end. Then a row waits for its end, and holds the output frontier at its start.
        rows: the slots of the expressions.
        stream: name of the stream whose lifetimes are changed.
        place: name of the query, line and column, for errors.

    A lifetime that an F which is not monotone moves before the output frontier is reported and left out: it would change
    results that are final.
    """

    cdef Executor new_start
    cdef Executor duration
    cdef bint needs_end
    cdef RowMaker rows
    cdef dict waiting              # index -> number in `queue`
    cdef list queue                # [start of the result, index, resolved, its start or a smaller one of a later entry]
    cdef Py_ssize_t base           # number of entries dropped from the queue
    cdef OutputMap kept            # lifetimes that wait

    cdef str stream
    cdef str place

    def __init__(self, app, lifetimes, Executor new_start, Executor duration, bint needs_end, RowMaker rows not None,
                 str stream not None="", str place not None=""):
        TemporalOperator.__init__(self, app, lifetimes, 1)
        self.new_start = new_start
        self.duration = duration
        self.needs_end = needs_end
        self.rows = rows
        self.stream = stream
        self.place = place
        self.waiting = {}
        self.queue = []
        self.kept = OutputMap(self.lifetimes)

    cdef int64_t moved(self, EventC* row, int64_t start) except? -1:
        """Return F(start); the row is not read."""
        cdef int64_t result
        if self.new_start is None or start == TIME_MAX or start == TIME_MIN:
            return start
        self.rows.look_at(row, NULL, start, TIME_MAX, 0)
        if self.new_start.c.fn(&self.new_start.c, row, self.frame, &result) != VALUE:
            raise ValueError("the new start of a lifetime is null")
        return result

    cdef int start(self, int input, LifetimeC* lifetime) except -1:
        cdef int64_t start
        try:
            start = self.moved(lifetime.row, lifetime.start)
            if start < self.output_frontier:
                raise CtiViolation(self.stream, f"alterLifetime() moves the start {lifetime.start} to {start}, which",
                                   self.output_frontier, self.place)
        except Exception:
            return self.report(<EventPool> lifetime.pool, lifetime.row)
        if not self.needs_end:
            return self.give(lifetime, start, TIME_MAX)
        map_set(self.kept, lifetime.index, lifetime)
        self.waiting[lifetime.index] = self.base + len(self.queue)
        self.wait(start, lifetime.index, False)
        return 0

    cdef int wait(self, int64_t start, uint32_t index, bint resolved) except -1:
        """Append to the queue; entries before that have a later start hold the frontier at this one."""
        cdef Py_ssize_t at = len(self.queue)
        self.queue.append([start, index, resolved, start])
        while at and self.queue[at - 1][3] > start:
            at -= 1
            self.queue[at][3] = start
        return 0

    cdef int end(self, int input, LifetimeC* lifetime) except -1:
        if not self.needs_end:
            return 0
        number = self.waiting.pop(lifetime.index, None)
        if number is None:
            return 0
        entry = self.queue[number - self.base]
        entry[2] = True
        try:
            self.give(lifetime, entry[0], lifetime.end)
        finally:
            map_drop(self.kept, lifetime.index)
        return 0

    cdef int give(self, LifetimeC* lifetime, int64_t start, int64_t end) except -1:
        """Emit a row with its new lifetime."""
        cdef int64_t duration = TIME_MAX, new_end
        cdef LifetimeC* made
        if self.duration is not None:
            try:
                self.rows.look_at(lifetime.row, NULL, lifetime.start, end, 0)
                if self.duration.c.fn(&self.duration.c, lifetime.row, self.frame, &duration) != VALUE:
                    return 0
            except Exception:
                return self.report(<EventPool> lifetime.pool, lifetime.row)
        if duration <= 0:
            return 0
        new_end = TIME_MAX if duration == TIME_MAX else start + 1 if start == TIME_MIN else shifted(start, duration)
        try:
            made = self.lifetimes.acquire(<EventPool> lifetime.pool, lifetime.row, start, new_end)
        except Exception:
            return self.report(<EventPool> lifetime.pool, lifetime.row)
        made.flags |= FOREVER if new_end == TIME_MAX else 0
        try:
            self.emit(START, made)
            if new_end != TIME_MAX:
                self.emit(END, made)
        finally:
            release_lifetime(self.lifetimes, made)
        return 0

    cdef int emit_forever(self, LifetimeC* lifetime, int64_t start) except -1:
        """Emit a row that never ends."""
        cdef LifetimeC* made
        try:
            made = self.lifetimes.acquire(<EventPool> lifetime.pool, lifetime.row, start, TIME_MAX)
        except Exception:
            return self.report(<EventPool> lifetime.pool, lifetime.row)
        made.flags |= FOREVER
        try:
            self.emit(START, made)
        finally:
            release_lifetime(self.lifetimes, made)
        return 0

    cdef int report_cti(self, int64_t cti) except -1:
        """Give the exception that is being handled to the exception handler of the app: the new CTI is not known."""
        error = exc_info()[1]
        if self.app.passes_on(error):
            raise error
        self.app.handle(error, f"{self.place}: the new start of CTI {cti}", [])
        return 0

    cdef int64_t settle(self, int64_t cti) except? -1:
        cdef LifetimeC* lifetime
        cdef Py_ssize_t n = 0
        cdef int64_t output = cti
        if self.new_start is not None and cti != TIME_MAX and cti != TIME_MIN:
            try:
                output = self.moved(NULL, cti)
            except Exception:
                output = self.output_frontier
                self.report_cti(cti)
        if cti == TIME_MAX:
            # What has not ended by now never ends.
            for start, index, resolved, _ in self.queue:
                if not resolved:
                    lifetime = map_find(self.kept, index)
                    self.emit_forever(lifetime, start)
                    map_drop(self.kept, index)
            self.queue, self.waiting = [], {}
            return cti
        while n < len(self.queue) and self.queue[n][2]:
            n += 1
        if n:
            del self.queue[:n]
            self.base += n
        if self.queue:
            output = min(output, self.queue[0][3])
        return output

    cdef int write(self, SnapshotWriter writer) except -1:
        TemporalOperator.write(self, writer)
        writer.put_u32(<uint32_t> len(self.queue))
        for start, index, resolved, _ in self.queue:
            writer.put_i64(start)
            put_lifetime(writer, self.lifetimes, NULL if resolved else map_find(self.kept, index))
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef Py_ssize_t _i, n
        cdef int64_t start
        cdef LifetimeC* lifetime
        self.clear()
        TemporalOperator.read(self, reader)
        n = get_size(reader)
        for _i in range(n):
            start = reader.get_i64()
            lifetime = get_lifetime(reader, self.lifetimes, self.row_pool)
            if lifetime is NULL:
                self.wait(start, 0, True)
                continue
            map_set(self.kept, lifetime.index, lifetime)
            self.waiting[lifetime.index] = len(self.queue)
            self.wait(start, lifetime.index, False)
        if len(self.waiting) != sum([not entry[2] for entry in self.queue]):
            refuse_damage("a lifetime waits for its end twice")
        return 0

    cdef int clear(self) except -1:
        TemporalOperator.clear(self)
        self.queue, self.waiting, self.base = [], {}, 0
        map_clear(self.kept)
        return 0
