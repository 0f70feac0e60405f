"""Temporal windows: snapshot, hopping, counting by start time.

A window cuts the time axis and computes results per piece: one row of aggregates per group, or the rows themselves, the
first of them by an order (top-k).
"""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memmove, memset

from siddhi._core.aggregate.aggregator cimport Aggregator
from siddhi._core.aggregate.python cimport PythonAggregator
from siddhi._core.expression.executor cimport Executor, evaluate_condition
from siddhi._core.index.hash_index cimport NO_ID, KeyMap
from siddhi._core.record.arena cimport enlarge
from siddhi._core.record.event cimport CURRENT, EXPIRED, TIMER, CellC, EventC, EventPool, Layout, release
from siddhi._core.record.frame cimport FrameC
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.temporal.aggregate cimport ALIVE, BEGINNING, ENDING, TimeWeighted
from siddhi._core.temporal.ingress cimport text_of
from siddhi._core.temporal.lifetime cimport (
    COMPLETE, END, FOREVER, START, TIME_MAX, TIME_MIN, EdgeC, LifetimeC, LifetimePool, TemporalOperator,
    get_lifetime, get_size, grow_by_index, prefetch, put_lifetime, refuse_damage, release_lifetime, retain_lifetime,
    shifted,
)
from siddhi._core.temporal.ordered cimport (
    OrderedRowC, OrderedRowsC, RowOrder, ordered_add, ordered_clear, ordered_remove,
)
from siddhi._core.temporal.rows cimport OutputMap, RowMaker, map_clear, map_drop, map_find, map_set
from siddhi.errors import LimitExceededError


include "groups.pxi"


@cython.final
@cython.no_gc_clear
cdef class Snapshot(TemporalOperator):
    """Results between consecutive starts and ends of a group's rows.

    A change ends the results of its group at once; the next ones begin when all edges of that time are known.
    """

    cdef Groups groups
    cdef list changed              # group ids

    def __init__(self, app, lifetimes, Groups groups not None):
        TemporalOperator.__init__(self, app, lifetimes, 1)
        self.groups = groups
        self.row_pool = groups.rows.pool
        self.changed = []

    cdef int change(self, uint32_t group_id, int64_t time) except -1:
        cdef GroupC* group = &self.groups.groups[group_id]
        if not group.queued:
            group.queued = True
            self.changed.append(group_id)
            self.groups.finish(self, group_id, time)
        return self.mark(time)

    cdef int start(self, int input, LifetimeC* lifetime) except -1:
        cdef uint32_t group_id = self.groups.enter(lifetime)
        self.change(group_id, lifetime.start)
        try:
            self.groups.add(group_id, lifetime)
        except Exception:
            self.report(<EventPool> lifetime.pool, lifetime.row)
        if lifetime.flags & FOREVER and not is_row(self.groups, lifetime.index):
            self.groups.leave(lifetime)
        return 0

    cdef int end(self, int input, LifetimeC* lifetime) except -1:
        if self.groups.is_member(lifetime.index):
            self.change(self.groups.group_of[lifetime.index] - 1, lifetime.end)
            self.groups.leave(lifetime)
        return 0

    cdef void prepare(self, int stage, const EdgeC* edge) noexcept:
        if edge.kind == END:
            self.groups.prepare(stage, edge.lifetime.index)

    cdef int flush(self, int64_t time) except -1:
        cdef list changed = self.changed
        cdef uint32_t group_id
        self.changed = []
        for group_id in changed:
            self.groups.groups[group_id].queued = False
            if self.groups.groups[group_id].n:
                self.groups.begin(self, group_id, time, TIME_MAX, 0, 1, 0)
            elif self.groups.groups[group_id].members == 0:
                self.groups.drop(group_id)
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        TemporalOperator.write(self, writer)
        write_groups(self.groups, writer)
        return write_group_ids(self.groups, writer, self.changed)

    cdef int read(self, SnapshotReader reader) except -1:
        self.clear()
        TemporalOperator.read(self, reader)
        read_groups(self.groups, reader, self.input_pools[0])
        self.changed = read_group_ids(self.groups, reader)
        for group_id in self.changed:
            self.groups.groups[<uint32_t> group_id].queued = True
        return 0

    cdef int clear(self) except -1:
        TemporalOperator.clear(self)
        self.changed = []
        return clear_groups(self.groups)


cdef inline int64_t floor_div(int64_t a, int64_t b) noexcept:
    """Return a / b, rounded down; b > 0."""
    cdef int64_t quotient = a // b
    return quotient - 1 if a % b != 0 and a < 0 else quotient


include "queue.pxi"


@cython.final
@cython.no_gc_clear
cdef class Hopping(TemporalOperator):
    """Windows [a + n h, a + n h + S) on a fixed grid; a row counts in every window that it overlaps.

    Windows are computed in order when the frontier has passed their end. Rows are added when the window ends after their
    start, and removed when it begins at or after their end: each once.

    Args:
        size, hop, alignment: S, h and a in ms.
        clip: whether a result is valid during the window; else for 1 ms at its end.
        place: name of the query, line and column, for errors.

    A row over which one CTI would make more than ``most_ticks`` of the app windows (a start of 0 by mistake, a CTI in
    another unit) is reported and left out.
    """

    cdef Groups groups
    cdef str place
    cdef int64_t size
    cdef int64_t hop
    cdef int64_t alignment
    cdef bint clip
    cdef QueueC started            # not added yet, in order of start
    cdef QueueC ended              # not removed yet, in order of end
    cdef Py_ssize_t ending         # time-weighted: number of those of `ended` that end in the window
    cdef QueueC beginning          # time-weighted: rows that start in the window, in order of start
    cdef dict alive                # group ids with rows, in order -> None
    cdef Py_ssize_t rows
    cdef int64_t next              # number of the next window
    cdef bint begun                # `next` is set
    cdef int64_t largest           # the largest finite time known
    cdef int64_t least             # the smallest
    cdef int64_t known             # up to which windows are made, as far as rows go

    def __init__(self, app, lifetimes, Groups groups not None, int64_t size, int64_t hop, int64_t alignment, bint clip,
                 str place not None=""):
        TemporalOperator.__init__(self, app, lifetimes, 1)
        self.groups = groups
        self.row_pool = groups.rows.pool
        self.size = size
        self.hop = hop
        self.alignment = alignment
        self.clip = clip
        self.place = place
        self.alive = {}
        self.largest = TIME_MIN
        self.least = TIME_MAX

    def __dealloc__(self):
        if self.lifetimes is not None:
            queue_clear(&self.started, self.lifetimes)
            queue_clear(&self.ended, self.lifetimes)
            queue_clear(&self.beginning, self.lifetimes)

    cdef void know(self, int64_t time) noexcept:
        if time != TIME_MIN and time != TIME_MAX:
            self.largest = max(self.largest, time)
            self.least = min(self.least, time)

    cdef int start(self, int input, LifetimeC* lifetime) except -1:
        if lifetime.start != TIME_MIN:
            self.know(lifetime.start + 1)
            self.least = min(self.least, lifetime.start)
        return queue_push(&self.started, lifetime)

    cdef int end(self, int input, LifetimeC* lifetime) except -1:
        self.know(lifetime.end)
        return queue_push(&self.ended, lifetime)

    cdef int64_t first_over(self, int64_t time) noexcept:
        """Return the number of the first window that ends after a time."""
        cdef int64_t offset = self.alignment + self.size
        cdef int64_t hops = floor_div(time, self.hop), over = floor_div(offset, self.hop)
        return shifted(hops, -over) + (time - hops * self.hop >= offset - over * self.hop)

    cdef int64_t on_grid(self, int64_t number, int64_t offset) noexcept:
        """Return offset + number * hop, or MIN or MAX where it is beyond them."""
        cdef int64_t over = floor_div(offset, self.hop)
        cdef int64_t rest = offset - over * self.hop, back = self.hop - rest
        number = shifted(number, over)
        if number >= 0:
            return TIME_MAX if number > (TIME_MAX - rest) // self.hop else number * self.hop + rest
        if number + 1 < -(TIME_MAX // self.hop) or (number + 1) * self.hop < TIME_MIN + back:
            return TIME_MIN
        return (number + 1) * self.hop - back

    cdef bint is_endless(self, LifetimeC* lifetime, int64_t first) noexcept:
        """Return whether too many windows from the time `first` on, and up to the known time, overlap a row."""
        cdef int64_t start = max(first, max(lifetime.start, self.least)), last = min(lifetime.end, self.known)
        return last > start and (<uint64_t> last - <uint64_t> start) // <uint64_t> self.hop > <uint64_t> self.app.most_ticks

    cdef int leave_out(self, LifetimeC* lifetime) except -1:
        """Report that a row is left out, since too many windows overlap it."""
        try:
            raise LimitExceededError(
                f"{self.place}: a row that is valid from {text_of(lifetime.start)} to {text_of(lifetime.end)} would be in "
                f"more than {self.app.most_ticks:,} windows (one every {self.hop} ms) up to {self.known}; the row is left "
                "out of them. Are times in another unit than milliseconds, or is a start or an end missing? Shorten "
                "lifetimes with #temporal:alterDuration, or make windows rarer")
        except LimitExceededError:
            return self.report(<EventPool> lifetime.pool, lifetime.row)

    cdef int leave_out_endless(self, int64_t first) except -1:
        """Leave out the rows in the window that would be in too many more."""
        cdef uint32_t index
        cdef LifetimeC* lifetime
        for index in range(self.groups.group_capacity):
            lifetime = self.lifetimes.lifetimes[index] if self.groups.is_member(index) else NULL
            if lifetime is NULL or not self.is_endless(lifetime, first):
                continue
            if self.groups.weighted and lifetime.start > shifted(first, -self.hop):
                self.groups.weigh(lifetime, BEGINNING, -1, lifetime.start)
            retain_lifetime(lifetime)
            try:
                self.drop_row(lifetime)
                self.leave_out(lifetime)
            finally:
                release_lifetime(self.lifetimes, lifetime)
        return 0

    cdef int drop_row(self, LifetimeC* lifetime) except -1:
        """Remove a row that is in the window."""
        cdef uint32_t group_id
        self.rows -= 1
        group_id = self.groups.leave(lifetime)
        if self.groups.groups[group_id].n == 0:
            self.alive.pop(group_id, None)
            if self.groups.groups[group_id].members == 0:
                self.groups.drop(group_id)
        return 0

    cdef int64_t settle(self, int64_t cti) except? -1:
        cdef int64_t start, end
        self.know(cti)
        self.known = self.largest if cti == TIME_MAX else cti
        if self.rows:
            start = self.on_grid(self.next, self.alignment)
            if self.known > start and (
                    (<uint64_t> self.known - <uint64_t> start) // <uint64_t> self.hop > <uint64_t> self.app.most_ticks):
                self.leave_out_endless(start)
        while True:
            if self.rows == 0:
                if self.started.n == 0:
                    break
                start = self.started.items[self.started.first].start
                end = self.first_over(self.least if start == TIME_MIN else start)
                self.next = max(self.next, end) if self.begun else end
                self.begun = True
            start = self.on_grid(self.next, self.alignment)
            end = self.on_grid(self.next, self.alignment + self.size)
            if end > cti or cti == TIME_MAX and start >= self.largest:
                break
            self.move(start, end)
            for group_id in list(self.alive):
                if self.clip:
                    self.groups.begin(self, group_id, start, end, start, end, COMPLETE)
                elif end < TIME_MAX:   # no lifetime begins at MAX
                    self.groups.begin(self, group_id, end, end + 1, start, end, COMPLETE)
            self.next += 1
        if not self.clip or cti == TIME_MAX or cti == TIME_MIN:
            return cti
        return self.on_grid(self.first_over(cti), self.alignment)

    cdef int move(self, int64_t start, int64_t end) except -1:
        """Add the rows that the window [start, end) reaches, and remove those that are over."""
        cdef LifetimeC* lifetime
        cdef uint32_t group_id
        while self.started.n and self.started.items[self.started.first].start < end:
            lifetime = queue_pop(&self.started)
            try:
                group_id = self.groups.enter(lifetime)
                self.rows += 1
                try:
                    self.groups.add(group_id, lifetime)
                except Exception:
                    self.report(<EventPool> lifetime.pool, lifetime.row)
                if not is_row(self.groups, lifetime.index):       # rejected, or its evaluation failed
                    self.drop_row(lifetime)
                    continue
                if self.is_endless(lifetime, start):
                    self.drop_row(lifetime)
                    self.leave_out(lifetime)
                    continue
                self.alive[group_id] = None
                if self.groups.weighted and lifetime.start > start and self.groups.has(lifetime.index):
                    queue_push(&self.beginning, lifetime)
                    self.groups.weigh(lifetime, BEGINNING, 1, lifetime.start)
            finally:
                release_lifetime(self.lifetimes, lifetime)
        if self.groups.weighted:
            self.weigh(start, end)
        while self.ended.n and self.ended.items[self.ended.first].end <= start:
            lifetime = queue_pop(&self.ended)
            try:
                if self.ending:
                    self.ending -= 1
                    self.groups.weigh(lifetime, ENDING, -1, lifetime.end)
                if self.groups.is_member(lifetime.index):      # else it was left out
                    self.drop_row(lifetime)
            finally:
                release_lifetime(self.lifetimes, lifetime)
        return 0

    cdef int weigh(self, int64_t start, int64_t end) except -1:
        """Tell time-weighted averages which rows start or end in the window."""
        cdef LifetimeC* lifetime
        while self.beginning.n and self.beginning.items[self.beginning.first].start <= start:
            lifetime = queue_pop(&self.beginning)
            try:
                self.groups.weigh(lifetime, BEGINNING, -1, lifetime.start)
            finally:
                release_lifetime(self.lifetimes, lifetime)
        while self.ending < self.ended.n and self.ended.items[self.ended.first + self.ending].end < end:
            self.groups.weigh(self.ended.items[self.ended.first + self.ending], ENDING, 1,
                              self.ended.items[self.ended.first + self.ending].end)
            self.ending += 1
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        TemporalOperator.write(self, writer)
        write_groups(self.groups, writer)
        write_group_ids(self.groups, writer, list(self.alive))
        queue_write(&self.started, writer, self.lifetimes)
        queue_write(&self.ended, writer, self.lifetimes)
        queue_write(&self.beginning, writer, self.lifetimes)
        writer.put_u32(<uint32_t> self.ending)
        writer.put_bool(self.begun)
        writer.put_i64(self.next)
        writer.put_i64(self.largest)
        return writer.put_i64(self.least)

    cdef int read(self, SnapshotReader reader) except -1:
        cdef uint32_t group_id
        cdef int64_t start
        cdef Py_ssize_t i
        cdef EventPool rows = self.input_pools[0]
        self.clear()
        TemporalOperator.read(self, reader)
        read_groups(self.groups, reader, rows)
        for group_id in read_group_ids(self.groups, reader):
            if self.groups.groups[group_id].n == 0:
                refuse_damage("a group of a window has no rows")
            self.alive[group_id] = None
        self.rows = count_members(self.groups)
        queue_read(&self.started, reader, self.lifetimes, rows)
        queue_read(&self.ended, reader, self.lifetimes, rows)
        queue_read(&self.beginning, reader, self.lifetimes, rows)
        self.ending = reader.get_u32()
        self.begun = reader.get_bool()
        self.next = reader.get_i64()
        self.largest = reader.get_i64()
        self.least = reader.get_i64()
        # What has been computed is not computed again: else a wrong number would ask for endless windows.
        if (self.ending > self.ended.n or self.largest > self.frontier
                or self.rows and (not self.begun or not self.is_due(self.next))):
            refuse_damage("the numbers of a window are wrong")
        for i in range(self.started.n):
            start = self.started.items[self.started.first + i].start
            if not self.is_due(self.first_over(self.least if start == TIME_MIN else start)):
                refuse_damage("a lifetime waits for a window that is over")
        return 0

    cdef bint is_due(self, int64_t number) noexcept:
        """Return whether a window ends after the frontier."""
        return self.frontier == TIME_MAX or self.frontier == TIME_MIN or number >= self.first_over(self.frontier)

    cdef int clear(self) except -1:
        TemporalOperator.clear(self)
        queue_clear(&self.started, self.lifetimes)
        queue_clear(&self.ended, self.lifetimes)
        queue_clear(&self.beginning, self.lifetimes)
        self.alive = {}
        self.rows = self.ending = self.next = 0
        self.begun = False
        self.largest, self.least = TIME_MIN, TIME_MAX
        return clear_groups(self.groups)


cdef struct HeldC:                 # of a group: the rows of its last starts, a list in order of start
    uint32_t first                 # index of a lifetime; NO_ID: none
    uint32_t last
    int64_t starts                 # number of distinct starts


@cython.final
@cython.no_gc_clear
cdef class CountByStart(TemporalOperator):
    """Windows of n distinct starts of a group, which slide by one; the result is a point after the last start.

    A group without starts for longer than `idle` has no starts: the next one is its first. Behind a window, the last n - 1
    starts are held, for the next one.

    Args:
        count: n.
        idle, interval: ms; groups that are idle are dropped every `interval`, of the time of CTIs. idle -1: never.
    """

    cdef Groups groups
    cdef int64_t count
    cdef int64_t idle
    cdef int64_t interval
    cdef int64_t dropped_at        # the CTI at which idle groups were dropped last
    cdef list changed              # group ids with rows of the current time
    cdef HeldC* held               # by group id
    cdef uint32_t held_capacity
    cdef uint32_t* following       # by index of a lifetime that is held: the next one of its group, or NO_ID
    cdef uint32_t following_capacity
    cdef OutputMap kept            # those that are held
    cdef uint8_t* ended            # by index of a lifetime that is held: whether its end has been seen
    cdef uint32_t ended_capacity

    def __init__(self, app, lifetimes, Groups groups not None, int64_t count, int64_t idle=-1, int64_t interval=0):
        TemporalOperator.__init__(self, app, lifetimes, 1)
        self.groups = groups
        self.row_pool = groups.rows.pool
        self.count = count
        self.idle = idle
        self.interval = interval
        self.dropped_at = TIME_MIN
        self.changed = []
        self.kept = OutputMap(self.lifetimes)

    def __dealloc__(self):
        PyMem_Free(self.ended)
        PyMem_Free(self.held)
        PyMem_Free(self.following)

    cdef HeldC* held_of(self, uint32_t group_id) except NULL:
        """Return the starts of a group that has been entered."""
        cdef uint32_t known = self.held_capacity
        self.held = <HeldC*> grow_by_index(self.held, &self.held_capacity, group_id, sizeof(HeldC))
        while known < self.held_capacity:
            self.held[known].first = NO_ID
            known += 1
        return &self.held[group_id]

    cdef int hold(self, uint32_t group_id, LifetimeC* lifetime, bint ended) except -1:
        """Append a row to those of its group, none of which starts later."""
        cdef HeldC* held = self.held_of(group_id)
        cdef uint32_t index = lifetime.index
        self.ended = <uint8_t*> grow_by_index(self.ended, &self.ended_capacity, index, sizeof(uint8_t))
        self.following = <uint32_t*> grow_by_index(self.following, &self.following_capacity, index, sizeof(uint32_t))
        map_set(self.kept, index, lifetime)
        self.ended[index] = ended
        self.following[index] = NO_ID
        if held.first == NO_ID:
            held.first = index
            held.starts = 1
        else:
            held.starts += map_find(self.kept, held.last).start != lifetime.start
            self.following[held.last] = index
        held.last = index
        return 0

    cdef bint is_idle(self, uint32_t group_id, int64_t time) noexcept:
        """Return whether the last start of a group was too long before a time."""
        cdef LifetimeC* last
        if self.idle < 0 or group_id >= self.held_capacity or self.held[group_id].first == NO_ID:
            return False
        last = map_find(self.kept, self.held[group_id].last)
        return time > last.start and <uint64_t> time - <uint64_t> last.start > <uint64_t> self.idle

    cdef int start(self, int input, LifetimeC* lifetime) except -1:
        cdef uint32_t group_id = self.groups.enter(lifetime)
        cdef GroupC* group = &self.groups.groups[group_id]
        if self.is_idle(group_id, lifetime.start):
            while self.held[group_id].first != NO_ID:
                self.forget(group_id)
            group = &self.groups.groups[group_id]
        if not group.queued:
            group.queued = True
            self.changed.append(group_id)
        self.hold(group_id, lifetime, False)
        self.mark(lifetime.start)
        try:
            self.groups.add(group_id, lifetime)
        except Exception:
            return self.report(<EventPool> lifetime.pool, lifetime.row)
        return self.groups.weigh(lifetime, BEGINNING, 1, lifetime.start) if self.groups.weighted else 0

    cdef int end(self, int input, LifetimeC* lifetime) except -1:
        if self.groups.weighted and map_find(self.kept, lifetime.index) is not NULL:
            self.ended[lifetime.index] = True
            self.groups.weigh(lifetime, ENDING, 1, lifetime.end)
        return 0

    cdef int forget(self, uint32_t group_id) except -1:
        """Remove the rows of the oldest start of a group."""
        cdef HeldC* held = &self.held[group_id]
        cdef LifetimeC* lifetime = map_find(self.kept, held.first)
        cdef int64_t start = lifetime.start
        held.starts -= 1
        while lifetime is not NULL and lifetime.start == start:
            held.first = self.following[lifetime.index]
            try:
                if self.groups.weighted:
                    self.groups.weigh(lifetime, BEGINNING, -1, lifetime.start)
                    if self.ended[lifetime.index]:
                        self.groups.weigh(lifetime, ENDING, -1, lifetime.end)
                if self.groups.is_member(lifetime.index):
                    self.groups.leave(lifetime)
            finally:
                map_drop(self.kept, lifetime.index)
            lifetime = NULL if held.first == NO_ID else map_find(self.kept, held.first)
        return 0

    cdef int flush(self, int64_t time) except -1:
        cdef list changed = self.changed
        cdef uint32_t group_id
        cdef LifetimeC* first
        self.changed = []
        for group_id in changed:
            self.groups.groups[group_id].queued = False
            while self.held[group_id].starts > self.count:     # of a state that held one more
                self.forget(group_id)
            if self.held[group_id].starts < self.count:
                continue
            if self.groups.groups[group_id].n and time < TIME_MAX - 1:     # no lifetime begins at MAX
                first = map_find(self.kept, self.held[group_id].first)
                self.groups.begin(self, group_id, time + 1, time + 2, first.start, time + 1, COMPLETE)
            self.forget(group_id)      # the next window begins later
            self.drop_empty(group_id)
        return 0

    cdef int drop_empty(self, uint32_t group_id) except -1:
        if self.held[group_id].first == NO_ID and self.groups.groups[group_id].members == 0:
            self.groups.drop(group_id)
        return 0

    cdef int64_t settle(self, int64_t cti) except? -1:
        cdef uint32_t group_id
        if self.idle < 0 or cti == TIME_MAX:
            return cti
        if self.dropped_at != TIME_MIN and shifted(self.dropped_at, self.interval) > cti:
            return cti
        self.dropped_at = cti
        for group_id in range(self.held_capacity):
            if self.is_idle(group_id, cti) and not self.groups.groups[group_id].queued:
                while self.held[group_id].first != NO_ID:
                    self.forget(group_id)
                self.drop_empty(group_id)
        return cti

    # --- snapshots

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef uint32_t group_id, index
        cdef int64_t start
        cdef list rows
        TemporalOperator.write(self, writer)
        write_groups(self.groups, writer)
        write_group_ids(self.groups, writer, self.changed)
        ids = [group_id for group_id in range(self.held_capacity)
               if self.held[group_id].first != NO_ID and self.groups.numbers[group_id] is not None]
        write_group_ids(self.groups, writer, ids)
        for group_id in ids:
            writer.put_u32(<uint32_t> self.held[group_id].starts)
            index = self.held[group_id].first
            while index != NO_ID:
                start, rows = map_find(self.kept, index).start, []
                while index != NO_ID and map_find(self.kept, index).start == start:
                    rows.append(index)
                    index = self.following[index]
                self.write_start(writer, rows)
        return 0

    cdef int write_start(self, SnapshotWriter writer, list rows) except -1:
        cdef uint32_t index
        writer.put_u32(<uint32_t> len(rows))
        for index in rows:
            put_lifetime(writer, self.lifetimes, map_find(self.kept, index))
            writer.put_bool(self.ended[index])
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef uint32_t group_id
        cdef Py_ssize_t _i, n
        self.clear()
        TemporalOperator.read(self, reader)
        read_groups(self.groups, reader, self.input_pools[0])
        self.changed = read_group_ids(self.groups, reader)
        for group_id in read_group_ids(self.groups, reader):
            n = get_size(reader)
            for _i in range(n):
                self.read_start(reader, group_id)
            if n == 0 or self.held_of(group_id).first == NO_ID or self.held_of(group_id).starts != n:
                refuse_damage("the starts of a group of a counting window are wrong")
        for group_id in self.changed:
            if self.held_of(group_id).first == NO_ID:
                refuse_damage("a group of a counting window has changed, but no starts")
            self.groups.groups[group_id].queued = True
        return 0

    cdef int read_start(self, SnapshotReader reader, uint32_t group_id) except -1:
        cdef Py_ssize_t _i, n = get_size(reader)
        cdef LifetimeC* lifetime
        cdef HeldC* held = self.held_of(group_id)
        for _i in range(n):
            lifetime = get_lifetime(reader, self.lifetimes, self.input_pools[0])
            if (lifetime is NULL or map_find(self.kept, lifetime.index) is not NULL
                    or held.first != NO_ID and map_find(self.kept, held.last).start > lifetime.start):
                refuse_damage("a lifetime of a counting window is missing, there twice or out of order")
            self.hold(group_id, lifetime, reader.get_bool())
        return 0

    cdef int clear(self) except -1:
        cdef uint32_t group_id
        TemporalOperator.clear(self)
        self.changed = []
        for group_id in range(self.held_capacity):
            self.held[group_id].first = NO_ID
        self.dropped_at = TIME_MIN
        map_clear(self.kept)
        return clear_groups(self.groups)
