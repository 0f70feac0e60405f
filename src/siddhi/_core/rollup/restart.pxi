# Replay: events that were processed before a restart arrive again, and stored rows are computed again.
#
# A replay lasts from an event before the end of the stored rows until that end is reached. One rule applies to all
# levels: a row of this run replaces the stored row of its bucket and group; all other stored rows remain. In the finest
# level rows are computed from events, in coarser levels from the finer rows stored by then, so that levels agree.
# During a replay the running rows of a level therefore only name the groups whose row of the current bucket must be
# computed again; results come from stored rows. Buckets after the end of a level's stored rows (`until`) are left to
# the end of the replay, where they are initialized as after any restart.
#
# If a replay begins inside a coarser bucket, the stored row of that bucket may be all that is left of purged finer
# rows. If it differs from their sum, it is kept (`standing`).

cdef int begin(Aggregation self, int64_t now) except -1:
    """Begin a replay."""
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
        # Continue the second in which the snapshot was taken.
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
    """Compute the rows of all completed buckets again, and open those that contain this time. End the replay where the
    stored rows end."""
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
    """Compute the current coarser rows as far as the replay has come; later events compute them again.

    Args:
        levels: rows, start and end of the current bucket, by level.
    """
    cdef int i
    for i in range(1, len(levels)):
        rows, start, end = levels[i]
        make_again(self, i, rows, start, end, levels)
    return 0


cdef int make_again(Aggregation self, int at, Rows groups, int64_t start, int64_t end, list levels) except -1:
    """Compute the rows of a bucket again from the stored finer rows."""
    cdef Level level = <Level> self.levels[at], finer = <Level> self.levels[at - 1]
    cdef Rows made
    if not groups.keys.size or start >= level.until:
        return 0
    made = new_rows(self)
    for record in finer.store.rolled(start, end):
        add_record(self, level, made, record, groups)
    return replace(self, at, made, start, levels)


cdef int replace(Aggregation self, int at, Rows rows, int64_t start, list levels) except -1:
    """Replace the stored rows of a bucket in these groups, and mark them in the next coarser level."""
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
    """Mark the row of a level that contains this row: it must be computed again."""
    cdef int64_t bucket = self.bucket_of(level, (<CellC*> &row.body[self.time_cell]).l)
    if level.standing is not None and has_row(self, level.standing, row, bucket):
        return 0
    return self.merge_into(groups, bucket, row)


cdef Rows left_alone(Aggregation self, int at, int64_t start, int64_t end):
    """Return the stored rows of a bucket that differ from the sum of its finer rows."""
    cdef Level level = <Level> self.levels[at], finer = <Level> self.levels[at - 1]
    cdef Rows made = new_rows(self), standing = new_rows(self)
    cdef EventC* row
    cdef CellC key[MAX_WIDTH]
    cdef uint32_t row_id
    cdef int64_t bucket
    # With `by` a row's first value, the time of the roll-up, differs between levels.
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
    """Merge a finer row into the rows of a level, if it is of these groups (None: all)."""
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
    """Compute what a level would store if all current buckets were over.

    Args:
        at: index of the level.
        touched: filled with the groups whose stored rows of the current bucket are invalid.
        remade: filled with the rows that replace them.
        tail: filled with the rows after the end of the level's stored rows.
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
                # In order of time: the last of the latest values wins.
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
    """Merge a finer row into the rows that it belongs to."""
    cdef int64_t bucket = self.bucket_of(level, (<CellC*> &row.body[self.time_cell]).l)
    if rolled >= level.until:
        return self.merge_into(tail, bucket, row)
    if level.start <= rolled < level.end and has_row(self, touched, row, bucket):
        return self.merge_into(remade, bucket, row)
    return 0


cdef bint has_row(Aggregation self, Rows rows, const EventC* row, int64_t bucket) except -1:
    """Return whether there is a row of this bucket with the group of another row."""
    cdef CellC key[MAX_WIDTH]
    return rows.keys.find(key, self.key_of(row, bucket, key)) != NO_ID


cdef Rows new_rows(Aggregation self):
    return Rows(self.fold.pool, self.finest.running.keys.types)


# Running rows after a restart, if rows of completed buckets are kept in a store.
#
# Without a snapshot they are computed from the store. With a snapshot, the app may have continued after it was taken:
# then the store holds rows of buckets that are still running in the snapshot. The first event decides. If time has
# advanced, the stored rows are valid and the snapshot's rows are dropped. If the clock starts before the end of the
# stored rows, events are replayed (see above). Until then the snapshot's rows are set aside (`stash`), and results come
# from stored rows.

cdef int rolled_up(Aggregation self) except -1:
    """Find the end of the stored rows of each level.

    The rows of a coarser level were rolled up through all finer levels, even if these have been purged since."""
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
    """Make the stored rows of incomplete buckets the running rows of their levels, as the previous run has rolled them
    up.

    Args:
        now: the app's clock.
        stores: store rows of buckets that are over by now at once; otherwise they are running rows, which give the same
            results.
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
    """Start from the stored rows, at the first event or at a read before it."""
    rolled_up(self)
    if has_event:
        decide(self, now)
    else:
        rebuild(self, now, False)
    self.unprepared = False
    return 0 if has_event else wait_for_event(self, now)


cdef int reconcile(Aggregation self, int64_t now) except -1:
    """Reconcile the state of a snapshot with the stored rows."""
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
        # The system's clock does not go back.
        decide(self, now)
    return 0


cdef int decide(Aggregation self, int64_t now) except -1:
    """Decide at the first event, which has this time."""
    if self.stash is not None and self.stash_replaying:
        # Saved during a replay: rows that it still had to compute, and its current second if that is over.
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
