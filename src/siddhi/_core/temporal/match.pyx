"""Operators that match two streams: join, anti join, outer joins, clip.

Each side has the lifetimes that are alive, in lists by the key of an equi-join. A START looks for matches in the list of
its key on the other side, so that a pair of lifetimes is found once, when the later one starts.
"""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

from siddhi._core.expression.executor cimport Executor, evaluate_condition
from siddhi._core.index.hash_index cimport NO_ID, KeyMap
from siddhi._core.record.event cimport CellC, EventC, EventPool, Layout, release
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.temporal.lifetime cimport (
    END, START, TIME_MAX, EdgeC, LifetimeC, LifetimePool, TemporalOperator, get_lifetime, get_size, grow_by_index,
    prefetch, put_lifetime, refuse_damage, release_lifetime, retain_lifetime,
)
from siddhi._core.temporal.rows cimport RowMaker

cdef enum:
    LEFT = 0
    RIGHT = 1

cdef struct MatchedPairC:                 # two lifetimes that match
    uint32_t sides[2]              # their indexes
    MatchedPairC* next[2]                 # in the list of each of them
    MatchedPairC* previous[2]
    LifetimeC* out                 # the result, a reference is owned; NULL: none

cdef struct AliveC:                # a lifetime that is alive, by its index
    LifetimeC* lifetime            # a reference is owned; NULL: not alive
    uint32_t key_id
    uint32_t next                  # in the list of its key
    uint32_t previous
    uint32_t matches               # number of its pairs
    MatchedPairC* pairs
    LifetimeC* piece               # the result without a match, a reference is owned; NULL: none
    bint queued                    # in `unmatched`


@cython.final
@cython.no_gc_clear
cdef class Side:
    """The lifetimes of one side that are alive.

    Args:
        lifetimes: of the app.
        layout: of the rows.
        positions: of the attributes of the key; empty: every row has the same key.
        outer: whether the row appears alone while it has no match.
    """

    cdef LifetimePool lifetimes
    cdef Layout layout
    cdef tuple positions
    cdef readonly bint outer
    cdef KeyMap keys
    cdef AliveC* alive
    cdef uint32_t capacity
    cdef uint32_t* first           # by key id
    cdef uint32_t first_capacity
    cdef uint32_t only             # first of a side without key
    cdef readonly Py_ssize_t size

    def __init__(self, LifetimePool lifetimes not None, Layout layout not None, tuple positions not None, bint outer=False):
        self.lifetimes = lifetimes
        self.layout = layout
        self.positions = positions
        self.outer = outer
        self.only = NO_ID
        if positions:
            self.keys = KeyMap(tuple([layout.types[position] for position in positions]))

    def __dealloc__(self):
        cdef uint32_t i
        for i in range(self.capacity):
            if self.alive[i].lifetime is not NULL:
                release_lifetime(self.lifetimes, self.alive[i].lifetime)
            if self.alive[i].piece is not NULL:
                release_lifetime(self.lifetimes, self.alive[i].piece)
        PyMem_Free(self.alive)
        PyMem_Free(self.first)

    cdef uint64_t read_key(self, EventC* row, CellC* key) noexcept:
        cdef uint64_t nulls = 0
        cdef int i, position
        for i in range(len(self.positions)):
            position = self.positions[i]
            key[i].bits = row.body[self.layout.words + position]
            if row.body[position >> 6] >> (position & 63) & 1:
                nulls |= (<uint64_t> 1) << i
                key[i].bits = 0
        return nulls

    cdef uint32_t first_of(self, Side other, EventC* row) except? 0xfffffffe:
        """Return the first lifetime with the key of a row of the other side, or NO_ID."""
        cdef CellC key[64]
        cdef uint64_t nulls
        cdef uint32_t key_id
        if not self.positions:
            return self.only
        nulls = other.read_key(row, key)
        if nulls:
            return NO_ID
        key_id = self.keys.find(key, nulls)
        return NO_ID if key_id == NO_ID else self.first[key_id]

    cdef int add(self, LifetimeC* lifetime) except -1:
        cdef CellC key[64]
        cdef uint32_t* first = &self.only
        cdef uint32_t key_id = NO_ID
        cdef uint64_t nulls
        cdef bint is_new = False
        cdef AliveC* entry
        if self.positions:
            nulls = self.read_key(lifetime.row, key)
            key_id = self.keys.insert(key, nulls, &is_new)
            self.first = <uint32_t*> grow_by_index(self.first, &self.first_capacity, key_id, sizeof(uint32_t))
            first = &self.first[key_id]
            if is_new:
                first[0] = NO_ID
        self.alive = <AliveC*> grow_by_index(self.alive, &self.capacity, lifetime.index, sizeof(AliveC))
        entry = &self.alive[lifetime.index]
        entry.lifetime = retain_lifetime(lifetime)
        entry.key_id, entry.next, entry.previous = key_id, first[0], NO_ID
        entry.matches, entry.pairs, entry.piece, entry.queued = 0, NULL, NULL, False
        if first[0] != NO_ID:
            self.alive[first[0]].previous = lifetime.index
        first[0] = lifetime.index
        self.size += 1
        return 0

    cdef int remove(self, uint32_t index) except -1:
        """Remove a lifetime that has no pairs."""
        cdef AliveC* entry = &self.alive[index]
        cdef uint32_t* first = &self.first[entry.key_id] if self.positions else &self.only
        cdef LifetimeC* lifetime = entry.lifetime
        if entry.previous == NO_ID:
            first[0] = entry.next
        else:
            self.alive[entry.previous].next = entry.next
        if entry.next != NO_ID:
            self.alive[entry.next].previous = entry.previous
        if self.positions and first[0] == NO_ID:
            self.keys.remove(entry.key_id)
        entry.lifetime = NULL
        self.size -= 1
        release_lifetime(self.lifetimes, lifetime)
        return 0

    cdef void prepare_match(self, Side other, EventC* row) noexcept:
        """Prefetch what first_of() will read."""
        cdef CellC key[64]
        cdef uint64_t nulls
        if self.positions:
            nulls = other.read_key(row, key)
            if not nulls:
                self.keys.prefetch(key, nulls)

    cdef void prepare_end(self, uint32_t index) noexcept:
        """Prefetch what remove() will read."""
        cdef AliveC* entry = &self.alive[index]
        if entry.pairs is not NULL:
            prefetch(entry.pairs)
        if entry.next != NO_ID:
            prefetch(&self.alive[entry.next])
        if entry.previous != NO_ID:
            prefetch(&self.alive[entry.previous])
        if self.positions:
            prefetch(&self.first[entry.key_id])
            self.keys.prefetch_key(entry.key_id)

    cdef bint has(self, uint32_t index) noexcept:
        return index < self.capacity and self.alive[index].lifetime is not NULL

    cdef int write(self, SnapshotWriter writer) except -1:
        """Write the lifetimes list by list, the oldest of each list first, with their pieces."""
        cdef uint32_t key_id
        writer.put_u32(<uint32_t> self.size)
        if not self.positions:
            return self.write_list(writer, self.only)
        for key_id in range(self.keys.id_bound()):
            if self.keys.is_live(key_id):
                self.write_list(writer, self.first[key_id])
        return 0

    cdef int write_list(self, SnapshotWriter writer, uint32_t first) except -1:
        cdef uint32_t at = first, last = NO_ID
        while at != NO_ID:
            last, at = at, self.alive[at].next
        while last != NO_ID:
            put_lifetime(writer, self.lifetimes, self.alive[last].lifetime)
            put_lifetime(writer, self.lifetimes, self.alive[last].piece)
            last = self.alive[last].previous
        return 0

    cdef int read(self, SnapshotReader reader, EventPool rows, EventPool pieces) except -1:
        cdef Py_ssize_t _i, n = get_size(reader)
        cdef LifetimeC* lifetime
        cdef LifetimeC* piece
        for _i in range(n):
            lifetime = get_lifetime(reader, self.lifetimes, rows)
            piece = get_lifetime(reader, self.lifetimes, pieces)
            if lifetime is NULL or self.has(lifetime.index):
                refuse_damage("a lifetime of a join is missing, or there twice")
            self.add(lifetime)
            if piece is not NULL:
                self.alive[lifetime.index].piece = retain_lifetime(piece)
        return 0

    cdef int clear(self) except -1:
        """Release the lifetimes, which have no pairs any more."""
        cdef uint32_t i
        for i in range(self.capacity):
            if self.alive[i].lifetime is NULL:
                continue
            release_lifetime(self.lifetimes, self.alive[i].lifetime)
            if self.alive[i].piece is not NULL:
                release_lifetime(self.lifetimes, self.alive[i].piece)
            memset(&self.alive[i], 0, sizeof(AliveC))
        self.only = NO_ID
        self.size = 0
        return 0 if self.keys is None else self.keys.clear()


@cython.final
@cython.no_gc_clear
cdef class Matcher(TemporalOperator):
    """Joins two sides: one result per pair that overlaps and matches, during the intersection.

    A row of an outer side appears alone during those instants at which no match is alive. Such a piece begins when all edges
    of its time are known: one match may end and another one start at the same time.

    Args:
        app: context of the app.
        lifetimes: of the app.
        left, right: the sides.
        condition: reads both rows; None: rows with equal keys match.
        rows: makes the result of a pair, and of a row without a match.
        pairs: whether pairs have results; False: an anti join, where only pieces leave.
    """

    cdef Side left
    cdef Side right
    cdef Executor condition
    cdef RowMaker rows
    cdef bint pairs
    cdef list unmatched            # (side, index) of rows whose piece may begin at `dirty_at`

    def __init__(self, app, lifetimes, Side left not None, Side right not None, Executor condition, RowMaker rows not None,
                 bint pairs):
        TemporalOperator.__init__(self, app, lifetimes, 2)
        self.left = left
        self.right = right
        self.condition = condition
        self.rows = rows
        self.row_pool = rows.pool
        self.pairs = pairs
        self.unmatched = []

    def __dealloc__(self):
        if self.left is not None:
            self.clear_pairs()

    cdef void clear_pairs(self) noexcept:
        cdef Side left = self.left
        cdef uint32_t i
        cdef MatchedPairC* pair
        cdef MatchedPairC* following
        for i in range(left.capacity):
            if left.alive[i].lifetime is NULL:
                continue
            pair = left.alive[i].pairs
            left.alive[i].pairs = NULL
            while pair is not NULL:
                following = pair.next[LEFT]
                if pair.out is not NULL:
                    release_lifetime(self.lifetimes, pair.out)
                PyMem_Free(pair)
                self.lifetimes.matches -= 1
                pair = following

    cdef inline Side side(self, int side):
        return self.left if side == LEFT else self.right

    cdef bint matches(self, LifetimeC* left, LifetimeC* right) except -1:
        if self.condition is None:
            return True
        self.rows.look_at(left.row, right.row, max(left.start, right.start), TIME_MAX, 0)
        return evaluate_condition(&self.condition.c, left.row, self.frame)

    cdef int start(self, int input, LifetimeC* lifetime) except -1:
        cdef Side mine = self.side(input)
        cdef Side others = self.side(1 - input)
        cdef uint32_t at, following
        cdef LifetimeC* left
        cdef LifetimeC* right
        cdef LifetimeC* other
        cdef bint found
        mine.add(lifetime)
        at = others.first_of(mine, lifetime.row)
        while at != NO_ID:
            following = others.alive[at].next
            other = others.alive[at].lifetime
            left, right = (lifetime, other) if input == LEFT else (other, lifetime)
            try:
                found = self.matches(left, right)
                if found:
                    self.lifetimes.require_room()
            except Exception:
                self.report(<EventPool> lifetime.pool, lifetime.row)
                found = False
            if found:
                self.pair(left, right, lifetime.start)
            at = following
        if mine.outer and mine.alive[lifetime.index].matches == 0:
            self.queue(input, lifetime.index, lifetime.start)
        return 0

    cdef int pair(self, LifetimeC* left, LifetimeC* right, int64_t time) except -1:
        """Record a match, end the pieces of both rows, and emit the result."""
        cdef MatchedPairC* made = <MatchedPairC*> PyMem_Malloc(sizeof(MatchedPairC))
        cdef int i
        if made is NULL:
            raise MemoryError
        made.out = NULL
        self.lifetimes.matches += 1
        made.sides[LEFT], made.sides[RIGHT] = left.index, right.index
        self.link(made, LEFT)
        self.link(made, RIGHT)
        for i in range(2):
            self.end_piece(i, made.sides[i], time)
        if self.pairs:
            made.out = self.made(left, right, time)
            if made.out is not NULL:
                self.emit(START, made.out)
        return 0

    cdef LifetimeC* made(self, LifetimeC* left, LifetimeC* right, int64_t time) except? NULL:
        """Return the lifetime of a result, owned; one of the rows may be missing. NULL: it is rejected."""
        cdef LifetimeC* any = left if left is not NULL else right
        cdef EventC* row
        cdef LifetimeC* result
        try:
            self.rows.look_at(left.row if left is not NULL else NULL, right.row if right is not NULL else NULL,
                              time, TIME_MAX, 0)
            if self.rows.pool is None:
                return self.lifetimes.acquire(<EventPool> any.pool, any.row, time, TIME_MAX)
            row = self.rows.make(any.row)
            if row is NULL:
                return NULL
            try:
                result = self.lifetimes.acquire(self.rows.pool, row, time, TIME_MAX)
            finally:
                release(self.rows.pool, row)
        except Exception:
            self.report(<EventPool> any.pool, any.row)
            return NULL
        return result

    cdef int queue(self, int side, uint32_t index, int64_t time) except -1:
        """Let a row without a match appear alone, if it still has none when the time is over."""
        cdef AliveC* entry = &self.side(side).alive[index]
        if not entry.queued and entry.piece is NULL:
            self.unmatched.append((side, index))
            entry.queued = True
        return self.mark(time)

    cdef int end_piece(self, int side, uint32_t index, int64_t time) except -1:
        cdef LifetimeC* piece = self.side(side).alive[index].piece
        if piece is NULL:
            return 0
        self.side(side).alive[index].piece = NULL
        return self.close(piece, time)

    cdef int close(self, LifetimeC* out, int64_t time) except -1:
        """Emit the END of a result, and release it."""
        try:
            out.end = time
            self.emit(END, out)
        finally:
            release_lifetime(self.lifetimes, out)
        return 0

    cdef void prepare(self, int stage, const EdgeC* edge) noexcept:
        cdef Side mine = self.left if edge.input == LEFT else self.right
        cdef Side others = self.right if edge.input == LEFT else self.left
        if edge.kind == END:
            if edge.lifetime.index >= mine.capacity:
                return
            if stage == 1:
                prefetch(&mine.alive[edge.lifetime.index])
            elif mine.alive[edge.lifetime.index].lifetime is not NULL:
                mine.prepare_end(edge.lifetime.index)
        elif stage == 1:
            prefetch(edge.lifetime.row)
        else:
            others.prepare_match(mine, edge.lifetime.row)
            mine.prepare_match(mine, edge.lifetime.row)

    cdef int flush(self, int64_t time) except -1:
        cdef list unmatched = self.unmatched
        cdef int side
        cdef uint32_t index
        cdef AliveC* entry
        cdef LifetimeC* piece
        self.unmatched = []
        for side, index in unmatched:
            if not self.side(side).has(index):
                continue
            entry = &self.side(side).alive[index]
            entry.queued = False
            if entry.matches == 0 and entry.piece is NULL:
                piece = self.made(entry.lifetime if side == LEFT else NULL, entry.lifetime if side == RIGHT else NULL, time)
                if piece is not NULL:
                    self.side(side).alive[index].piece = piece
                    self.emit(START, piece)
        return 0

    cdef int end(self, int input, LifetimeC* lifetime) except -1:
        cdef Side mine = self.side(input)
        cdef Side others = self.side(1 - input)
        cdef MatchedPairC* pair
        cdef MatchedPairC* following
        cdef AliveC* other
        cdef LifetimeC* out
        if not mine.has(lifetime.index):
            return 0
        pair = mine.alive[lifetime.index].pairs
        mine.alive[lifetime.index].pairs = NULL
        while pair is not NULL:
            following = pair.next[input]
            other = &others.alive[pair.sides[1 - input]]
            if pair.previous[1 - input] is NULL:
                other.pairs = pair.next[1 - input]
            else:
                pair.previous[1 - input].next[1 - input] = pair.next[1 - input]
            if pair.next[1 - input] is not NULL:
                pair.next[1 - input].previous[1 - input] = pair.previous[1 - input]
            other.matches -= 1
            if others.outer and other.matches == 0:
                self.queue(1 - input, pair.sides[1 - input], lifetime.end)
            out = pair.out
            PyMem_Free(pair)
            self.lifetimes.matches -= 1
            if out is not NULL:
                self.close(out, lifetime.end)
            pair = following
        self.end_piece(input, lifetime.index, lifetime.end)
        return mine.remove(lifetime.index)

    # --- snapshots

    cdef int write(self, SnapshotWriter writer) except -1:
        """Write the sides, and the pairs list by list, the oldest first: of the left side, then numbers of the right one."""
        cdef MatchedPairC* pair
        cdef Side which
        cdef int side
        cdef uint32_t index
        cdef dict numbers = self.numbered_pairs()
        TemporalOperator.write(self, writer)
        self.left.write(writer)
        self.right.write(writer)
        writer.put_u32(<uint32_t> len(numbers))
        for at in numbers:
            pair = <MatchedPairC*> <size_t> at
            put_lifetime(writer, self.lifetimes, self.left.alive[pair.sides[LEFT]].lifetime)
            put_lifetime(writer, self.lifetimes, self.right.alive[pair.sides[RIGHT]].lifetime)
            put_lifetime(writer, self.lifetimes, pair.out)
        for index in range(self.right.capacity):
            pair = self.oldest(self.right, index, RIGHT)
            while pair is not NULL:
                if writer.items is None:
                    writer.put_u32(numbers[<size_t> pair])
                pair = pair.previous[RIGHT]
        writer.put_u32(<uint32_t> len(self.unmatched))
        for side, index in self.unmatched:
            writer.put_u32(side)
            which = self.side(side)
            # Of one that has ended meanwhile there is nothing to write.
            put_lifetime(writer, self.lifetimes, which.alive[index].lifetime if which.has(index) else NULL)
        return 0

    cdef MatchedPairC* oldest(self, Side side, uint32_t index, int number) noexcept:
        """Return the oldest pair of a lifetime, or NULL."""
        cdef MatchedPairC* pair = side.alive[index].pairs if side.alive[index].lifetime is not NULL else NULL
        while pair is not NULL and pair.next[number] is not NULL:
            pair = pair.next[number]
        return pair

    cdef dict numbered_pairs(self):
        cdef uint32_t index
        cdef MatchedPairC* pair
        cdef dict numbers = {}
        for index in range(self.left.capacity):
            pair = self.oldest(self.left, index, LEFT)
            while pair is not NULL:
                numbers[<size_t> pair] = len(numbers)
                pair = pair.previous[LEFT]
        return numbers

    cdef int read(self, SnapshotReader reader) except -1:
        cdef Py_ssize_t _i, n
        cdef uint32_t side
        cdef LifetimeC* lifetime
        self.clear()
        TemporalOperator.read(self, reader)
        self.left.read(reader, self.input_pools[LEFT], self.row_pool)
        self.right.read(reader, self.input_pools[RIGHT], self.row_pool)
        self.read_pairs(reader)
        n = get_size(reader)
        for _i in range(n):
            side = reader.get_u32()
            if side > RIGHT:
                refuse_damage(f"{side} is not a side of a join")
            lifetime = get_lifetime(reader, self.lifetimes, self.input_pools[side])
            if lifetime is NULL:
                continue
            if not self.side(side).has(lifetime.index):
                refuse_damage("a lifetime without a match is missing")
            self.unmatched.append((side, lifetime.index))
            self.side(side).alive[lifetime.index].queued = True
        return 0

    cdef int read_pairs(self, SnapshotReader reader) except -1:
        cdef Py_ssize_t i, _i, n = get_size(reader)
        cdef uint32_t number
        cdef LifetimeC* left
        cdef LifetimeC* right
        cdef LifetimeC* out
        cdef MatchedPairC** pairs = <MatchedPairC**> PyMem_Malloc(max(<Py_ssize_t> 1, n) * sizeof(MatchedPairC*))
        if pairs is NULL:
            raise MemoryError
        linked = bytearray(n)
        try:
            for i in range(n):
                left = get_lifetime(reader, self.lifetimes, self.input_pools[LEFT])
                right = get_lifetime(reader, self.lifetimes, self.input_pools[RIGHT])
                out = get_lifetime(reader, self.lifetimes, self.row_pool)
                if left is NULL or right is NULL or not self.left.has(left.index) or not self.right.has(right.index):
                    refuse_damage("a match has a lifetime that is not alive")
                pairs[i] = <MatchedPairC*> PyMem_Malloc(sizeof(MatchedPairC))
                if pairs[i] is NULL:
                    raise MemoryError
                pairs[i].sides[LEFT], pairs[i].sides[RIGHT] = left.index, right.index
                pairs[i].next[RIGHT] = pairs[i].previous[RIGHT] = NULL
                pairs[i].out = retain_lifetime(out) if out is not NULL else NULL
                self.link(pairs[i], LEFT)      # from here on clear_pairs() frees it
                self.lifetimes.matches += 1
            for _i in range(n):
                number = reader.get_u32()
                if number >= n or linked[number]:
                    refuse_damage("a match is missing, or there twice")
                linked[number] = 1
                self.link(pairs[number], RIGHT)
        finally:
            PyMem_Free(pairs)
        return 0

    cdef void link(self, MatchedPairC* pair, int side) noexcept:
        """Put a pair at the head of the list of its lifetime on one side."""
        cdef AliveC* entry = &self.side(side).alive[pair.sides[side]]
        pair.previous[side] = NULL
        pair.next[side] = entry.pairs
        if entry.pairs is not NULL:
            entry.pairs.previous[side] = pair
        entry.pairs = pair
        entry.matches += 1

    cdef int clear(self) except -1:
        TemporalOperator.clear(self)
        self.clear_pairs()
        self.left.clear()
        self.right.clear()
        self.unmatched = []
        return 0


@cython.final
@cython.no_gc_clear
cdef class Clip(TemporalOperator):
    """Ends each row of the left side at the first later start of a row of the right side that matches.

    Args:
        app: context of the app.
        lifetimes: of the app.
        left: the rows to clip.
        right: describes the rows that clip; none of them is kept.
        condition: reads both rows; None: rows with equal keys match.
        rows: the slots of the condition.
    """

    cdef Side left
    cdef Side right
    cdef Executor condition
    cdef RowMaker rows

    def __init__(self, app, lifetimes, Side left not None, Side right not None, Executor condition, RowMaker rows not None):
        TemporalOperator.__init__(self, app, lifetimes, 2)
        self.left = left
        self.right = right
        self.condition = condition
        self.rows = rows

    cdef int start(self, int input, LifetimeC* lifetime) except -1:
        cdef uint32_t at, following
        cdef AliveC* entry
        cdef LifetimeC* out
        if input == LEFT:
            try:
                out = self.lifetimes.acquire(<EventPool> lifetime.pool, lifetime.row, lifetime.start, TIME_MAX)
            except Exception:
                return self.report(<EventPool> lifetime.pool, lifetime.row)
            try:
                self.left.add(lifetime)
                self.left.alive[lifetime.index].piece = retain_lifetime(out)
                self.emit(START, out)
            finally:
                release_lifetime(self.lifetimes, out)
            return 0
        at = self.left.first_of(self.right, lifetime.row)
        while at != NO_ID:
            entry = &self.left.alive[at]
            following = entry.next
            if entry.lifetime.start < lifetime.start and self.matches(entry.lifetime, lifetime):
                self.close(at, lifetime.start)
            at = following
        return 0

    cdef bint matches(self, LifetimeC* left, LifetimeC* right) except -1:
        if self.condition is None:
            return True
        try:
            self.rows.look_at(left.row, right.row, right.start, TIME_MAX, 0)
            return evaluate_condition(&self.condition.c, left.row, self.frame)
        except Exception:
            self.report(<EventPool> left.pool, left.row)
            return False

    cdef int close(self, uint32_t index, int64_t time) except -1:
        cdef LifetimeC* out = self.left.alive[index].piece
        self.left.alive[index].piece = NULL
        try:
            out.end = time
            self.emit(END, out)
        finally:
            release_lifetime(self.lifetimes, out)
            self.left.remove(index)
        return 0

    cdef int end(self, int input, LifetimeC* lifetime) except -1:
        if input == LEFT and self.left.has(lifetime.index):
            self.close(lifetime.index, lifetime.end)
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        TemporalOperator.write(self, writer)
        return self.left.write(writer)

    cdef int read(self, SnapshotReader reader) except -1:
        cdef uint32_t i
        self.clear()
        TemporalOperator.read(self, reader)
        self.left.read(reader, self.input_pools[LEFT], self.row_pool)
        for i in range(self.left.capacity):
            if self.left.alive[i].lifetime is not NULL and self.left.alive[i].piece is NULL:
                refuse_damage("a row that may be clipped has no result")
        return 0

    cdef int clear(self) except -1:
        TemporalOperator.clear(self)
        return self.left.clear()
