# Events that come again: rows that are stored already are made anew.
#
# That is so from an event before the end of what is stored until that end is reached. The rule is one for all levels: a
# row of this run takes the place of the stored one of its bucket and group; all others stand. In the finest level it is
# made of the events; in coarser ones of the finer rows that are stored by then, those of this run and those that stand,
# so that levels agree. So a level's running rows are here no more than the groups whose row of the current bucket is to
# be made anew, and what is stored counts. Buckets behind the end of what a level has stored (`until`) are left to the
# end of the replay: then they are taken up as after any restart.
#
# Where a replay begins in the middle of a coarser bucket, its stored row may be all that is left of finer rows, which were
# purged: where it is not what they add up to, it stands (`standing`).
#
# Events that come again: rows that are stored already are made anew.

cdef int begin(Aggregation self, int64_t now) except -1:
    """Begin to replay."""
    cdef Level level
    cdef int i
    cdef int64_t first, start, end
    cdef list standing = [None]
    cdef object running = None
    self.calendar.bounds(self.finest.length, now, &first, &end)
    for i in range(1, len(self.levels)):
        level = <Level> self.levels[i]
        self.calendar.bounds(level.length, now, &start, &end)
        standing.append(left_alone(self, i, start, end) if start < first and start < level.until else None)
    if self.stash is not None and self.stash[0][1] == first:
        # The second in the middle of which the snapshot was taken goes on.
        running = self.stash[0][0]
    for i in range(len(self.levels)):
        level = <Level> self.levels[i]
        level.running = new_rows(self)
        level.standing = standing[i]
        self.calendar.bounds(level.length, now, &level.start, &level.end)
    if running is not None:
        self.finest.running = running
    self.replaying = True
    return 0


cdef int roll_anew(Aggregation self, int64_t now) except -1:
    """Make the rows of every bucket that is over anew, and open those that hold this time; at the end of what is stored go
    on as ever."""
    cdef Level level
    cdef int i
    for i in range(len(self.levels)):
        level = <Level> self.levels[i]
        if now < level.end:
            continue
        if level.running.keys.size:
            if i == 0:
                replace(self, i, level.running, level.start, None)
            else:
                make_again(self, i, level.running, level.start, level.end, None)
            level.running.clear()
        level.standing = None
        self.calendar.bounds(level.length, now, &level.start, &level.end)
    if now >= self.finest.until:
        rebuild(self, now, True)
        self.replaying = False
    return 0


cdef int settle(Aggregation self, list levels) except -1:
    """Rebuild the unfinished coarser rows as far as the replay has come; later events rebuild them again.

    Args:
        levels: rows, start and end of the current bucket, by level.
    """
    cdef int i
    for i in range(1, len(levels)):
        rows, start, end = levels[i]
        make_again(self, i, rows, start, end, levels)
    return 0


cdef int make_again(Aggregation self, int at, Rows groups, int64_t start, int64_t end, list levels) except -1:
    """Make the rows of a bucket anew from the finer ones that are stored."""
    cdef Level level = <Level> self.levels[at], finer = <Level> self.levels[at - 1]
    cdef Rows made
    if not groups.keys.size or start >= level.until:
        return 0
    made = new_rows(self)
    for record in finer.store.rolled(start, end):
        add_record(self, level, made, record, groups)
    return replace(self, at, made, start, levels)


cdef int replace(Aggregation self, int at, Rows rows, int64_t start, list levels) except -1:
    """Store the rows of a bucket in place of those of their groups, which the next coarser level has to make again."""
    cdef Level level = <Level> self.levels[at], coarser
    cdef Rows groups
    cdef uint32_t row_id
    cdef int first = self.fold.pool.layout.words
    if not rows.keys.size:
        return 0
    if self.by is not None:
        for row_id in range(rows.keys.id_bound()):
            (<CellC*> &rows.rows[row_id].body[first]).l = start
    level.store.exchange(start, [
        event_to_tuple(rows.rows[row_id], self.fold.pool.layout) for row_id in range(rows.keys.id_bound())
    ])
    if at + 1 == len(self.levels):
        return 0
    coarser = <Level> self.levels[at + 1]
    groups, opened = (coarser.running, coarser.start) if levels is None else levels[at + 1][:2]
    if opened < coarser.until:
        for row_id in range(rows.keys.id_bound()):
            touch(self, coarser, groups, rows.rows[row_id])
    return 0


cdef int touch(Aggregation self, Level level, Rows groups, EventC* row) except -1:
    """Remember that the row of a level that holds this one is to be made anew."""
    cdef int64_t bucket = self.bucket_of(level, (<CellC*> &row.body[self.time_cell]).l)
    if level.standing is not None and has_row(self, level.standing, row, bucket):
        return 0
    return self.merge_into(groups, bucket, row)


cdef Rows left_alone(Aggregation self, int at, int64_t start, int64_t end):
    """The stored rows of a bucket that are not what the finer ones of it add up to."""
    cdef Level level = <Level> self.levels[at], finer = <Level> self.levels[at - 1]
    cdef Rows made = new_rows(self), standing = new_rows(self)
    cdef EventC* row
    cdef CellC key[MAX_WIDTH]
    cdef uint32_t row_id
    cdef int64_t bucket
    # With `by` the first of a row's values, the time of the roll-up, is another in each level.
    cdef int since = 0 if self.by is None else 1
    for record in finer.store.rolled(start, end):
        add_record(self, level, made, record, None)
    for record in level.store.rolled(start, end):
        row = record_of(record, self.fold.pool, self.fold.pool.layout)
        try:
            bucket = (<CellC*> &row.body[self.time_cell]).l
            row_id = made.keys.find(key, self.key_of(row, bucket, key))
            if row_id == NO_ID or (event_to_tuple(made.rows[row_id], self.fold.pool.layout)[since:]
                                   != event_to_tuple(row, self.fold.pool.layout)[since:]):
                self.merge_into(standing, bucket, row)
        finally:
            release(self.fold.pool, row)
    return standing


cdef int add_record(Aggregation self, Level level, Rows rows, record, Rows groups) except -1:
    """Merge a finer row into those of a level; of these groups (None: all)."""
    cdef EventC* row = record_of(record, self.fold.pool, self.fold.pool.layout)
    cdef int64_t bucket
    try:
        bucket = self.bucket_of(level, (<CellC*> &row.body[self.time_cell]).l)
        if groups is None or has_row(self, groups, row, bucket):
            self.merge_into(rows, bucket, row)
    finally:
        release(self.fold.pool, row)
    return 0


cdef int anew(Aggregation self, int at, Rows touched, Rows remade, Rows tail) except -1:
    """Return the rows that a level would store if all unfinished rows were complete.

    Args:
        at: index of the level.
        touched: filled with the groups whose stored rows of the current bucket don't count.
        remade: filled with what counts instead.
        tail: filled with the rows behind the end of what the level has stored.
    """
    cdef Level level = <Level> self.levels[at], finer
    cdef Rows below, below_remade, below_tail
    cdef uint32_t row_id
    cdef EventC* row
    cdef int first = self.fold.pool.layout.words
    cdef int64_t rolled
    cdef bint is_open = True
    cdef list records = []
    if at == 0:
        for row_id in range(level.running.keys.id_bound()):
            row = level.running.rows[row_id]
            self.merge_into(touched, (<CellC*> &row.body[self.time_cell]).l, row)
            self.merge_into(remade, (<CellC*> &row.body[self.time_cell]).l, row)
        return 0
    finer = <Level> self.levels[at - 1]
    below, below_remade, below_tail = new_rows(self), new_rows(self), new_rows(self)
    anew(self, at - 1, below, below_remade, below_tail)
    if level.start < level.until:
        for row_id in range(level.running.keys.id_bound()):
            touch(self, level, touched, level.running.rows[row_id])
        for row_id in range(below.keys.id_bound()):
            touch(self, level, touched, below.rows[row_id])
        if touched.keys.size:
            records += finer.store.rolled(level.start, level.end)
    records += finer.store.since(None if level.until == NEVER else level.until)
    for record in records:
        row = record_of(record, self.fold.pool, self.fold.pool.layout)
        try:
            rolled = (<CellC*> &row.body[first]).l
            if is_open and rolled > finer.start:
                # In the order of time: of latest values the last one counts.
                share_all(self, level, finer.start, below_remade, touched, remade, tail)
                is_open = False
            if rolled != finer.start or not has_row(self, below, row, (<CellC*> &row.body[self.time_cell]).l):
                share(self, level, rolled, row, touched, remade, tail)
        finally:
            release(self.fold.pool, row)
    if is_open:
        share_all(self, level, finer.start, below_remade, touched, remade, tail)
    return share_all(self, level, level.until, below_tail, touched, remade, tail)


cdef int share_all(Aggregation self, Level level, int64_t rolled, Rows rows, Rows touched, Rows remade,
                   Rows tail) except -1:
    cdef uint32_t row_id
    for row_id in range(rows.keys.id_bound()):
        share(self, level, rolled, rows.rows[row_id], touched, remade, tail)
    return 0


cdef int share(Aggregation self, Level level, int64_t rolled, EventC* row, Rows touched, Rows remade,
               Rows tail) except -1:
    """Merge a finer row in where it belongs."""
    cdef int64_t bucket = self.bucket_of(level, (<CellC*> &row.body[self.time_cell]).l)
    if rolled >= level.until:
        return self.merge_into(tail, bucket, row)
    if level.start <= rolled < level.end and has_row(self, touched, row, bucket):
        return self.merge_into(remade, bucket, row)
    return 0


cdef bint has_row(Aggregation self, Rows rows, const EventC* row, int64_t bucket) except -1:
    """Whether there is a row of this bucket and the group of another one."""
    cdef CellC key[MAX_WIDTH]
    return rows.keys.find(key, self.key_of(row, bucket, key)) != NO_ID


cdef Rows new_rows(Aggregation self):
    return Rows(self.fold.pool, self.finest.running.keys.types)


# Rows at work after a restart, where rows of buckets that are over are kept in a store.
#
# Without a snapshot they are made of what the store says. With one there are two truths where the app had gone on after the
# snapshot was taken: the store then holds rows of buckets that the snapshot has at work. What happens is told by the first
# event that comes. Where time has gone on, what is stored stands, and the snapshot's rows go. Where the clock starts again
# before the end of what is stored, events are replayed: see restart.pxi. Until that is known the snapshot's rows
# are put aside (`stash`), and answers are made of what is stored.
#
# Rows at work after a restart, where rows of buckets that are over are kept in a store.

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
        self.write_to_store(level)
        level.running.clear()
    return 0


cdef int start_from_store(Aggregation self, int64_t now, bint has_event) except -1:
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
