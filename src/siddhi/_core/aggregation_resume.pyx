"""Rows at work after a restart, where rows of buckets that are over are kept in a store.

Without a snapshot they are made of what the store says. With one there are two truths where the app had gone on after the
snapshot was taken: the store then holds rows of buckets that the snapshot has at work. What happens is told by the first
event that comes. Where time has gone on, what is stored stands, and the snapshot's rows go. Where the clock starts again
before the end of what is stored, events are replayed: see aggregation_replay.pyx. Until that is known the snapshot's rows
are put aside (`stash`), and answers are made of what is stored.
"""

from siddhi._core.aggregation cimport NEVER, Level, Rows
from siddhi._core.aggregation_replay cimport begin, replace, settle
from siddhi._core.event cimport CellC, EventC, release
from siddhi._core.record cimport record_of


cdef int rolled_up(Aggregation self) except -1:
    """Find out until when rows of each level are stored. What a coarser one has stored was rolled up through all finer
    ones, also where these have been purged since."""
    cdef Level level
    cdef int i
    cdef int64_t start, end, latest = NEVER
    for i in range(len(self.levels) - 1, -1, -1):
        level = <Level> self.levels[i]
        newest = level.store.newest()
        if newest is not None:
            self.calendar.bounds(level.length, newest, &start, &end)
            latest = max(latest, end)
        level.until = latest
    return 0


cdef int rebuild(Aggregation self, int64_t now, bint stores) except -1:
    """What stores hold of buckets that are not over becomes the running rows of their levels: an app before this one
    has rolled it up that far.

    Args:
        now: the app's clock.
        stores: rows of buckets that are over by now are stored at once; else they are running rows, too, which is as good
            for answers.
    """
    cdef Level level, finer
    cdef EventC* row
    cdef int i, first = self.fold.pool.layout.words
    cdef int64_t latest = now, start, end
    for i in range(1, len(self.levels)):
        level = <Level> self.levels[i]
        finer = <Level> self.levels[i - 1]
        level.running.clear()
        start = end = NEVER
        for record in finer.store.since(None if level.until == NEVER else level.until):
            row = record_of(record, self.fold.pool, self.fold.pool.layout)
            try:
                latest = (<CellC*> &row.body[first]).l
                if stores and latest >= end:
                    store_bucket(self, level, start)
                    self.calendar.bounds(level.length, latest, &start, &end)
                self.merge_into(level.running, self.bucket_of(level, (<CellC*> &row.body[self.time_cell]).l), row)
            finally:
                release(self.fold.pool, row)
        if stores:
            if end <= now:
                store_bucket(self, level, start)
            latest = now
        self.calendar.bounds(level.length, latest, &level.start, &level.end)
    return 0


cdef int store_bucket(Aggregation self, Level level, int64_t start) except -1:
    if level.running.keys.size:
        level.start = start
        self.stamp(level)
        self.put_away(level)
        level.running.clear()
    return 0


cdef int take_up(Aggregation self, int64_t now, bint has_event) except -1:
    """Begin with what is stored: because the first event has come, or somebody asks before."""
    rolled_up(self)
    if has_event:
        decide(self, now)
    else:
        rebuild(self, now, False)
    self.unprepared = False
    return 0 if has_event else wait_for_event(self, now)


cdef int reconcile(Aggregation self, int64_t now) except -1:
    """Hold what came from a snapshot against what is stored."""
    cdef Level level
    rolled_up(self)
    if self.finest.until <= self.finest.start:
        self.resumed = self.replaying = False
        return 0
    stash = [(level.running, level.start, level.end) for level in self.levels]
    for level in self.levels:
        level.running = Rows(self.fold.pool, level.running.keys.types)
    try:
        rebuild(self, now, False)
    except BaseException:
        for level, (running, start, end) in zip(self.levels, stash):
            level.running, level.start, level.end = running, start, end
        raise
    self.finest.start = self.finest.end = 0
    self.resumed = False
    self.stash = stash
    self.stash_replaying = self.replaying
    self.replaying = False
    return wait_for_event(self, now)


cdef int wait_for_event(Aggregation self, int64_t now) except -1:
    self.undecided = True
    if not self.app.frame.playback:
        # Its clock does not go back.
        decide(self, now)
    return 0


cdef int decide(Aggregation self, int64_t now) except -1:
    """An event has come at this time."""
    if self.stash is not None and self.stash_replaying:
        # Saved amid a replay: what that had still to make anew, and the second it was in, where that is over.
        if self.stash[0][2] <= now:
            replace(self, 0, self.stash[0][0], self.stash[0][1], self.stash)
        settle(self, self.stash)
    if now < self.finest.until:
        begin(self, now)
    else:
        rebuild(self, now, True)
    self.undecided = False
    self.stash = None
    return self.order()
