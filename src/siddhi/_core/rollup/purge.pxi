# Deletion of old rows of an aggregation.
#
# With exact timers every tick between two events runs: billions of them if one event is far in the future. So a purge
# without anything to delete for long schedules the first tick that will delete something, or none until rows are added.

cdef int64_t NOTHING = <int64_t> 9223372036854775807
cdef int64_t RESTING = (<int64_t> 1) << 62         # in snapshots, added to the last tick: no tick is scheduled


@cython.final
cdef class AggregationPurge(Processor):
    """Deletes old rows from the tables of an aggregation, at a fixed interval of the app's clock.

    Args:
        aggregation: owner of the tables.
        interval_ms: time between two purges.
        retention_ms: per level the maximum age of a bucket, by its start; None: unlimited.
    """

    cdef readonly Aggregation aggregation
    cdef int64_t interval
    cdef tuple retention
    cdef int64_t due               # scheduled tick; while resting: the last one that ran
    cdef bint resting
    cdef int64_t added             # time at which rows were added last; NOT_ORDERED: never

    def __init__(self, Aggregation aggregation not None, int64_t interval_ms, retention_ms):
        self.app = aggregation.app
        self.aggregation = aggregation
        self.interval = interval_ms
        self.retention = tuple(retention_ms)
        self.due = NOT_ORDERED
        self.added = NOT_ORDERED
        aggregation.purge = self

    def start(self):
        """Start the interval, unless a snapshot holds its end."""
        if self.due == NOT_ORDERED:
            self.order()

    def await_first_instant(self):
        """Restart the interval by the app's clock when playback begins in a running app."""
        self.resting = False
        self.order()

    cdef int order(self) except -1:
        self.due = now_ms(&self.app.frame) + self.interval
        return self.app.schedule(self, self.due, 0)

    def note_rows(self):
        """Resume a resting purge with its next tick, because rows are added."""
        cdef int64_t now = now_ms(&self.app.frame)
        self.added = now
        if self.resting:
            self.resting = False
            self.due = now + self.interval - (now - self.due) % self.interval
        elif self.app.exact and self.due != NOT_ORDERED and self.due - now > self.interval:
            self.due -= (self.due - now - 1) // self.interval * self.interval
        else:
            return
        self.app.schedule(self, self.due, 0)

    cdef int on_timer(self, int64_t when) except -1:
        if when != self.due or self.resting:
            return 0
        if not (self.app.exact and self.app.frame.playback):
            self.order()
            return self.purge()
        try:
            self.purge()
        except BaseException:
            self.order()
            raise
        return self.order_next()

    cdef int purge(self) except -1:
        cdef Level level
        cdef int i
        cdef int64_t oldest
        cdef tuple levels = self.aggregation.levels
        self.aggregation.prepare()
        for i in range(len(levels)):
            level = <Level> levels[i]
            if self.retention[i] is None:
                continue
            oldest = now_ms(&self.app.frame) - <int64_t> self.retention[i]
            if level.store is not None:
                level.store.delete_before(oldest, self.covered(<Level> levels[i + 1]) if i + 1 < len(levels) else None)
            elif not level.table.searching:
                # The table must not change while a condition over it is evaluated; the next tick deletes.
                self.delete_before(level.table, oldest)
        return 0

    cdef int order_next(self) except -1:
        """Schedule the next tick; with exact timers the first one that will delete something, if that is far."""
        cdef int64_t now = now_ms(&self.app.frame)
        cdef int64_t next = now + self.interval, first = self.first_too_old(now)
        if first >= RESTING and now >= 0:
            self.resting = True
            return 0
        if first - next > TICKS_IN_A_ROW * self.interval:
            next += (first - next + self.interval - 1) // self.interval * self.interval
        self.due = next
        return self.app.schedule(self, next, 0)

    cdef int64_t first_too_old(self, int64_t now) except? -1:
        """Return when the oldest row becomes too old; ``now`` or earlier: unknown; NOTHING: never."""
        cdef Level level
        cdef uint32_t number
        cdef int64_t retention, time, first = NOTHING
        cdef int i
        for i in range(len(self.retention)):
            if self.retention[i] is None:
                continue
            retention = <int64_t> self.retention[i]
            level = <Level> self.aggregation.levels[i]
            if level.store is not None:
                # A store may hold rows of all ages; if none was added for so long, they are gone.
                if self.added != NOT_ORDERED and now - self.added <= retention:
                    return now
                continue
            if level.table.searching:
                return now
            number = level.table.first
            while number != NO_ROW:
                time = (<CellC*> &level.table.rows[number].event.body[self.aggregation.time_cell]).l
                if time < RESTING - retention:
                    first = min(first, time + retention)
                number = level.table.rows[number].next
        return first if first == NOTHING else first + 1

    cdef dict covered(self, Level coarser):
        """Return for each node the time up to which rows of the next finer level are contained in a stored row of this
        level.

        Later rows are contained in running rows, which an app that ends without a snapshot loses."""
        cdef Calendar calendar = self.aggregation.calendar
        cdef dict covered = {
            node: calendar.bucket(coarser.length, time)[1] for node, time in coarser.store.newest_of_nodes().items()
        }
        if self.aggregation.replaying and coarser.store.node in covered:
            # Rows being replayed are made of finer rows.
            covered[coarser.store.node] = min(covered[coarser.store.node], coarser.start)
        return covered

    cdef bint is_idle(self, uint32_t partition) noexcept:
        return True

    cdef int write(self, SnapshotWriter writer) except -1:
        # A tick after the last representable time may as well run at that time.
        return writer.put_due(min(self.due, RESTING - 1) + RESTING if self.resting else min(self.due, RESTING))

    cdef int read(self, SnapshotReader reader) except -1:
        cdef int64_t due = reader.get_due()
        self.due = NOT_ORDERED
        self.added = now_ms(&self.app.frame)
        self.resting = RESTING < due
        if due == NOT_ORDERED:
            # Taken before the app had started.
            return self.order() if self.app.running else 0
        self.due = restored_tick(self.app, due - RESTING if self.resting else due, self.interval)
        if self.resting and self.app.exact and self.app.frame.playback:
            return 0
        self.resting = False
        return self.app.schedule(self, self.due, 0)

    cdef int delete_before(self, Table table, int64_t oldest) except -1:
        cdef uint32_t number = table.first, following
        while number != NO_ROW:
            following = table.rows[number].next
            if (<CellC*> &table.rows[number].event.body[self.aggregation.time_cell]).l < oldest:
                table.remove(number)
            number = following
        return 0
