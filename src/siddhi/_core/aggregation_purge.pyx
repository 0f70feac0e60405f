"""Deleting old rows of an aggregation."""

cimport cython
from libc.stdint cimport int64_t, uint32_t

from siddhi._core.aggregation cimport Aggregation, Level
from siddhi._core.aggregation_time cimport Calendar
from siddhi._core.event cimport CellC
from siddhi._core.executor cimport now_ms
from siddhi._core.period cimport restored_tick
from siddhi._core.processor cimport Processor
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter
from siddhi._core.table cimport Table
from siddhi._core.table_index cimport NO_ROW

cdef int64_t NOT_ORDERED = <int64_t> -9223372036854775807 - 1


@cython.final
cdef class AggregationPurge(Processor):
    """Deletes old rows from the tables of an aggregation, at a fixed interval of the app's clock.

    Args:
        aggregation: whose tables.
        interval_ms: between two looks.
        retention_ms: by level: age of the start of the oldest bucket that is kept; None: all are.
    """

    cdef readonly Aggregation aggregation
    cdef int64_t interval
    cdef tuple retention
    cdef int64_t due

    def __init__(self, Aggregation aggregation not None, int64_t interval_ms, retention_ms):
        self.app = aggregation.app
        self.aggregation = aggregation
        self.interval = interval_ms
        self.retention = tuple(retention_ms)
        self.due = NOT_ORDERED

    def start(self):
        """Begin to count the interval, unless a snapshot said when it ends."""
        if self.due == NOT_ORDERED:
            self.order()

    cdef int order(self) except -1:
        self.due = now_ms(&self.app.frame) + self.interval
        return self.app.schedule(self, self.due, 0)

    cdef int on_timer(self, int64_t when) except -1:
        cdef Level level
        cdef int i
        cdef int64_t oldest
        cdef tuple levels = self.aggregation.levels
        if when != self.due:
            return 0
        self.order()
        self.aggregation.prepare()
        for i in range(len(levels)):
            level = <Level> levels[i]
            if self.retention[i] is None:
                continue
            oldest = now_ms(&self.app.frame) - <int64_t> self.retention[i]
            if level.store is not None:
                level.store.delete_before(oldest, self.covered(<Level> levels[i + 1]) if i + 1 < len(levels) else None)
            elif not level.table.searching:
                # While a condition over the table is evaluated it must not change; next time will do.
                self.delete_before(level.table, oldest)
        return 0

    cdef dict covered(self, Level coarser):
        """By node: up to where rows of the next finer level are in a row of this one that is stored. Those behind it are
        in rows at work, which an app that ends without a snapshot loses."""
        cdef Calendar calendar = self.aggregation.calendar
        cdef dict covered = {
            node: calendar.bucket(coarser.length, time)[1] for node, time in coarser.store.newest_of_nodes().items()
        }
        if self.aggregation.replaying and coarser.store.node in covered:
            # What is being made anew is made of finer rows.
            covered[coarser.store.node] = min(covered[coarser.store.node], coarser.start)
        return covered

    cdef bint is_idle(self, uint32_t partition) noexcept:
        return True

    cdef int write(self, SnapshotWriter writer) except -1:
        return writer.put_i64(self.due)

    cdef int read(self, SnapshotReader reader) except -1:
        cdef int64_t due = reader.get_i64()
        self.due = NOT_ORDERED
        if due == NOT_ORDERED:
            # Taken before the app had started.
            return self.order() if self.app.running else 0
        self.due = restored_tick(self.app, due, self.interval)
        return self.app.schedule(self, self.due, 0)

    cdef int delete_before(self, Table table, int64_t oldest) except -1:
        cdef uint32_t number = table.first, following
        while number != NO_ROW:
            following = table.rows[number].next
            if (<CellC*> &table.rows[number].event.body[self.aggregation.time_cell]).l < oldest:
                table.remove(number)
            number = following
        return 0
