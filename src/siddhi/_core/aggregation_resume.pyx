"""Rows at work after a restart, where rows of buckets that are over are kept in a store.

Without a snapshot they are made of what the store says. With one there are two truths where the app had gone on after the
snapshot was taken: the store then holds rows of buckets that the snapshot has at work. Which one counts is told by the first
event that comes. Where the clock starts again before what is stored, events are replayed, and make these rows anew: the
snapshot counts, and what was stored since goes. Where time has gone on, what is stored stands, and the snapshot's rows go.
Until that is known the snapshot's rows are put aside (`stash`), and answers are made of what is stored.
"""

from siddhi._core.aggregation cimport Level, Rows
from siddhi._core.event cimport CellC, EventC, release
from siddhi._core.record cimport record_of


cdef list rolled_up(Aggregation self):
    """By level: until when its rows are stored; None: none are. What a coarser level has stored was rolled up through all
    finer ones, also where these have been purged since."""
    cdef Level level
    cdef int i
    cdef int64_t start, end
    cdef list until = [None] * len(self.levels)
    latest = None
    for i in range(len(self.levels) - 1, -1, -1):
        level = <Level> self.levels[i]
        newest = level.store.newest()
        if newest is not None:
            self.calendar.bounds(level.length, newest, &start, &end)
            latest = end if latest is None else max(latest, end)
        until[i] = latest
    return until


cdef int rebuild(Aggregation self, list until, int64_t now) except -1:
    """What stores hold of buckets that are not over becomes the running rows of their levels: an app before this one
    has rolled it up that far."""
    cdef Level level, finer
    cdef EventC* row
    cdef int i, first = self.fold.pool.layout.words
    cdef int64_t latest = now
    for i in range(1, len(self.levels)):
        level = <Level> self.levels[i]
        finer = <Level> self.levels[i - 1]
        level.running.clear()
        for record in finer.store.since(until[i]):
            row = record_of(record, self.fold.pool, self.fold.pool.layout)
            try:
                latest = (<CellC*> &row.body[first]).l
                self.merge_into(level.running, self.bucket_of(level, (<CellC*> &row.body[self.time_cell]).l), row)
            finally:
                release(self.fold.pool, row)
        self.calendar.bounds(level.length, latest, &level.start, &level.end)
    self.unprepared = False
    return 0


cdef int reconcile(Aggregation self, int64_t now) except -1:
    """Hold what came from a snapshot against what is stored."""
    cdef Level level
    cdef list until = rolled_up(self)
    if until[0] is None or until[0] <= self.finest.start:
        self.resumed = False
        return 0
    stash = [(level.running, level.start, level.end) for level in self.levels]
    for level in self.levels:
        level.running = Rows(self.fold.pool, level.running.keys.types)
    try:
        rebuild(self, until, now)
        self.stored_end = until[0]
    except BaseException:
        put_back(self, stash)
        raise
    self.finest.start = self.finest.end = 0
    self.resumed = False
    self.stash = stash
    if not self.app.frame.playback:
        # Its clock does not go back.
        decide(self, now)
    return 0


cdef int decide(Aggregation self, int64_t now) except -1:
    """An event has come at this time."""
    cdef Level level
    if now < self.stored_end:
        for level, (_, start, _) in zip(self.levels, self.stash):
            level.store.forget_since(start)
        put_back(self, self.stash)
    self.stash = None
    return self.order()


cdef int put_back(Aggregation self, list stash) except -1:
    cdef Level level
    for level, (running, start, end) in zip(self.levels, stash):
        level.running, level.start, level.end = running, start, end
    return 0
