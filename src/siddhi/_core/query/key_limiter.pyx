"""The operator before a selection with limits."""

cimport cython

from collections import deque

from siddhi._core.aggregate.aggregator cimport Aggregator
from siddhi._core.index.hash_index cimport NO_ID
from siddhi._core.record.event cimport CURRENT
from siddhi._core.record.frame cimport FrameC, now_ms
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.key_limit cimport DROP_OLDEST, Refusals
from siddhi._core.snapshot.format cimport REFUSED, SnapshotReader, SnapshotWriter


cdef object NAN = float("nan")         # one object, which equals itself in keys


cdef dict blocked_keys(items, int width, bint ordered):
    """Return the refused rows of a snapshot, by key."""
    cdef dict blocked = {}
    if type(items) is not list:
        raise ValueError("snapshot is damaged: invalid refused rows")
    for item in items:
        if not (type(item) is tuple and len(item) == 2 and type(item[0]) is tuple and len(item[0]) == width):
            raise ValueError("snapshot is damaged: invalid key of refused rows")
        rows = item[1]
        if not (type(rows) is list and True in rows and {True, False}.issuperset(rows) if ordered
                else type(rows) is int and rows > 0):
            raise ValueError("snapshot is damaged: invalid refused rows")
        blocked[tuple([part if part == part else NAN for part in item[0]])] = deque(rows) if ordered else rows
    return blocked


@cython.final
cdef class KeyLimiter(GroupWatcher):
    """Limit the keys and distinct values of a selection.

    Args:
        app: the app's context.
        query: name of the query, for errors of rows that a window emits.
        selector: the selection, the next operator.
        keys: limit of the groups.
        values: limit of the distinct values per aggregator and group.
        counted: the aggregators that hold distinct values.
        returns: a window emits rows again, as EXPIRED or by RESET.
        marks: the window emits the same records again.
        holds: the window emits rows later than they came.
        blocks: rows expire in other records, so that they are matched by their key.
        ordered: they expire in the order they came.
    """

    def __init__(self, AppContext app not None, str query not None, Selector selector not None, KeyLimit keys not None,
                 KeyLimit values not None, tuple counted not None, bint returns, bint marks, bint holds,
                 bint blocks=False, bint ordered=False):
        self.app = app
        self.query = query
        self.selector = selector
        self.next = selector
        self.groups = selector.groups
        self.keys = keys
        self.values = values
        self.counted = counted
        self.returns = returns
        self.marks = marks
        self.holds = holds
        self.blocked = {} if blocks else None
        self.ordered = ordered
        self.retired = set()
        self.refusals = Refusals()
        if self.groups is not None:
            self.groups.set_watcher(self)

    @property
    def live_keys(self):
        """Return the number of keys, after dropping those idle for their ttl. The caller holds the app's lock."""
        if self.groups is None:
            return 0
        if not self.app.frame.playback or self.app.frame.clock != 0:       # else the clock is not known yet
            self.purge(now_ms(&self.app.frame))
        return self.n_keys()

    @property
    def most_values(self):
        """Return the largest number of values that one group holds in one aggregator."""
        return max([aggregator.most_values() for aggregator in self.counted], default=0)

    cdef bint refuses(self, EventC* event) except -1:
        cdef FrameC* frame = &self.app.frame
        cdef Aggregator aggregator
        cdef uint32_t group_id = frame.partition
        cdef int64_t now = now_ms(frame)
        cdef bint known
        if self.keys.ttl:
            self.purge(now)
        if event.type != CURRENT:
            return self.unblock(event) if self.blocked else self.marks and event.group == REFUSED
        if self.marks and event.group == REFUSED:
            event.group = 0            # an incomplete batch is emitted again
        frame.type = CURRENT
        if self.groups is not None:
            group_id = self.groups.find(event, frame)
        frame.group = group_id
        for aggregator in self.counted:
            if not aggregator.has_room(event, frame, self.values):
                return self.refuse(self.values, event)
        if self.groups is None:
            return False
        known = group_id != NO_ID and not (self.retired and group_id in self.retired)
        if not known:
            if self.blocked and not self.ordered and self.key_to_block(event) in self.blocked:
                self.block(event)
                return self.refuse(self.keys, event)
            if 0 <= self.keys.most <= self.n_keys() and not self.make_room():
                if self.blocked is not None:
                    self.block(event)
                return self.refuse(self.keys, event)
            if group_id != NO_ID:
                self.revive(group_id)
        elif self.returns:
            self.keys.unlist(group_id)
            self.groups.touch(group_id)
        else:
            self.keys.use(group_id, now)
        if self.blocked and self.ordered:
            key = self.key_to_block(event)
            if key in self.blocked:
                self.blocked[key].append(False)
        return False

    cdef tuple key_to_block(self, EventC* event):
        """Return the key of a row; all NaN are one key."""
        return tuple([part if part == part else NAN for part in self.groups.key_of(event, &self.app.frame)])

    cdef int block(self, EventC* event) except -1:
        """Note a refused row."""
        key = self.key_to_block(event)
        if self.ordered:
            self.blocked.setdefault(key, deque()).append(True)
        else:
            self.blocked[key] = self.blocked.get(key, 0) + 1
        return 0

    cdef bint unblock(self, EventC* event) except -1:
        """Return whether an expired row is one of those that were refused."""
        key = self.key_to_block(event)
        rows = self.blocked.get(key)
        if rows is None:
            return False
        if not self.ordered:
            if rows == 1:
                del self.blocked[key]
            else:
                self.blocked[key] = rows - 1
            return True
        refused = rows.popleft()
        if refused and True not in rows:
            del self.blocked[key]
        return refused

    cdef int purge(self, int64_t now) except -1:
        cdef uint32_t group_id = self.keys.idle(now)
        while group_id != NO_ID:
            self.drop_key(group_id)
            self.keys.purge()
            group_id = self.keys.idle(now)
        return 0

    cdef bint make_room(self) except -1:
        """Make room for one more key; return False if that is not possible."""
        cdef GroupBy groups = self.groups
        cdef uint32_t group_id
        # Groups whose last row left in the current chunk end with it. Drop them now if their room is needed.
        while self.n_keys() >= self.keys.most and self.looked < groups.n_dropping:
            group_id = groups.dropping[self.looked]
            self.looked += 1
            if (groups.keys.is_live(group_id) and groups.row_counts[group_id] == 0 and group_id not in self.retired
                    and groups.is_over(group_id)):
                self.drop_key(group_id)
        while self.n_keys() >= self.keys.most:
            group_id = self.keys.oldest
            if self.keys.on_full != DROP_OLDEST or group_id == NO_ID:
                return False
            self.drop_key(group_id)
            self.keys.drop()
        return True

    cdef Py_ssize_t n_keys(self) noexcept:
        return self.groups.keys.size - len(self.retired)

    cdef int drop_key(self, uint32_t group_id) except -1:
        """Drop a key. While a row of the current chunk waits for it, the state is removed now and the group id later."""
        if not self.is_needed(group_id):
            return self.groups.discard(group_id)
        self.keys.unlist(group_id)
        self.groups.retire(group_id)
        self.retired.add(group_id)
        return 0

    cdef int revive(self, uint32_t group_id) except -1:
        """Start a retired key again."""
        self.retired.discard(group_id)
        self.groups.revive(group_id)
        self.groups.touch(group_id)
        return self.begun(group_id)

    cdef int end_retired(self) except -1:
        """Drop the retired keys for which no row is to be emitted any more."""
        cdef uint32_t group_id
        for group_id in list(self.retired):
            if not self.is_needed(group_id):
                self.groups.discard(group_id)
        return 0

    cdef bint is_needed(self, uint32_t group_id) noexcept:
        """Return whether a row of the current chunk is to be emitted for a group id."""
        return self.selector.waits_for(group_id) or self.groups.is_pinned(group_id)

    cdef int refuse(self, KeyLimit limit, EventC* event) except -1:
        if self.marks:
            event.group = REFUSED
        error = limit.refuse(None if self.groups is None else self.groups.key_of(event, &self.app.frame))
        if error is not None and self.refusals.pending is None:
            self.refusals.pending = error
        return 1

    cdef int process(self, EventC* event) except -1:
        return 0 if self.refuses(event) else self.selector.process(event)

    cdef int process_one(self, EventC* event) except -1:
        cdef bint collects = self.refusals.collects
        if self.refuses(event):
            return self.selector.finish() if collects else self.finish()
        # Processing the row may send more rows to this operator. They are not part of the entry's chunk.
        self.refusals.collects = False
        try:
            self.selector.process_one(event)
            return self.end_retired() if self.retired else 0
        finally:
            self.refusals.collects = collects

    cdef int finish(self) except -1:
        error, self.refusals.pending = self.refusals.pending, None
        self.selector.finish()
        if self.retired:
            self.end_retired()
        return 0 if error is None else self.fail(error)

    cdef void abort(self) noexcept:
        self.refusals.pending = None
        self.selector.abort()
        if self.retired:
            self.end_retired()

    cdef int fail(self, object error) except -1:
        if self.holds:
            # The current event is not one of those whose rows were rejected.
            self.app.handle(error, self.query, [])
            return 0
        raise error

    cdef int begun(self, uint32_t group_id) except -1:
        if not self.returns:
            self.keys.use(group_id, now_ms(&self.app.frame))
        self.keys.allows(self.n_keys())        # logs the warning about many keys
        return 0

    cdef int left(self, uint32_t group_id) except -1:
        if self.groups.n_dropping == 0:
            self.looked = 0
        if self.groups.row_counts[group_id] == 0:
            return 0                   # RESET of a key that is idle already
        return self.keys.use(group_id, now_ms(&self.app.frame))

    cdef int ended(self, uint32_t group_id) except -1:
        self.keys.unlist(group_id)
        self.retired.discard(group_id)
        return 0

    cdef int cleared(self) except -1:
        if self.blocked is not None:
            self.blocked = {}
        self.keys.clear()
        self.retired.clear()
        return 0

    # --- snapshots: first the idle keys in order of use, then those with rows in the window. They are read after the groups.

    cdef int write(self, SnapshotWriter writer) except -1:
        if self.groups is None:
            return 0
        self.keys.write(self.groups.keys, writer, self.groups_in_window())
        if self.blocked is not None:
            writer.put_object([(key, list(rows) if self.ordered else rows) for key, rows in self.blocked.items()])
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef uint32_t group_id
        if self.groups is None:
            return 0
        for group_id in self.keys.read(self.groups.keys, reader):
            if self.returns and self.groups.row_counts[group_id]:
                self.keys.unlist(group_id)
                self.groups.touch(group_id)
        if self.blocked is not None:
            self.blocked = blocked_keys(reader.get_object(), self.groups.keys.width, self.ordered)
        return 0

    cdef list groups_in_window(self):
        """Return the ids of the groups with rows in the window; per partition, the one used last comes last."""
        cdef uint32_t partition, group_id
        cdef list group_ids = []
        if self.returns:
            for partition in range(self.groups.n_partitions):
                group_id = self.groups.last_of(partition)
                while group_id != NO_ID:
                    if self.groups.row_counts[group_id]:
                        group_ids.append(group_id)
                    group_id = self.groups.links[group_id].previous
        return group_ids

    def renew(self):
        """Mark all keys that may be dropped as used now, in the order of their group ids."""
        cdef uint32_t group_id
        cdef int64_t now = now_ms(&self.app.frame)
        if self.groups is None:
            return
        self.keys.clear()
        for group_id in range(self.groups.keys.id_bound()):
            if self.groups.keys.is_live(group_id) and not (self.returns and self.groups.row_counts[group_id]):
                self.keys.use(group_id, now)
