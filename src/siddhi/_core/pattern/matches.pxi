# Partial matches and their lists.

cdef enum:
    FIRST_ARENA_BLOCKS = 16
    LINE = 64                      # bytes of a cache line; blocks are aligned to it


@cython.final
cdef class BlockPool:
    """Allocates blocks of one size. A free block holds the address of the next one."""

    def __cinit__(self, Py_ssize_t block_bytes):
        self.block_bytes = (block_bytes + LINE - 1) // LINE * LINE
        self.arena_blocks = FIRST_ARENA_BLOCKS

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_arenas):
            free_arena(self.arenas[i])
        PyMem_Free(self.arenas)

    cdef int grow(self) except -1:
        cdef Py_ssize_t i
        cdef char* memory
        cdef void** arenas = <void**> PyMem_Realloc(self.arenas, (self.n_arenas + 1) * sizeof(void*))
        if arenas is NULL:
            raise MemoryError
        self.arenas = arenas
        memory = <char*> allocate_arena(self.arena_blocks * self.block_bytes)
        if memory is NULL:
            raise MemoryError
        self.arenas[self.n_arenas] = memory
        self.n_arenas += 1
        self.reserved_bytes += self.arena_blocks * self.block_bytes
        for i in range(self.arena_blocks - 1, -1, -1):
            (<void**> (memory + i * self.block_bytes))[0] = self.free
            self.free = memory + i * self.block_bytes
        self.arena_blocks = next_arena_size(self.arena_blocks, self.block_bytes)
        return 0


@cython.final
@cython.no_gc_clear
cdef class Matches:
    """Allocates, copies and frees the partial matches of one query.

    Args:
        pools: event pool of each slot.
        counting: for each slot whether it holds a list.
    """

    def __cinit__(self, tuple pools not None, counting):
        cdef int i
        self.n_slots = len(pools)
        self.pools = pools
        self.partials = BlockPool(sizeof(PartialC) + (self.n_slots - 1) * sizeof(void*))
        self.entries = BlockPool(sizeof(MatchEntryC))
        self.budget = current_budget()
        self.slot_pools = <void**> PyMem_Malloc(self.n_slots * sizeof(void*))
        self.counting = <bint*> PyMem_Malloc(self.n_slots * sizeof(bint))
        if self.slot_pools is NULL or self.counting is NULL:
            raise MemoryError
        for i in range(self.n_slots):
            self.slot_pools[i] = <void*> pools[i]
            self.counting[i] = counting[i]

    def __dealloc__(self):
        PyMem_Free(self.slot_pools)
        PyMem_Free(self.counting)

    @property
    def alive(self):
        """Number of live partial matches."""
        return self.partials.alive

    @property
    def alive_events(self):
        """Number of buffered events; a shared event counts once."""
        return sum([pool.alive for pool in self.pools])

    @property
    def reserved_bytes(self):
        """Bytes reserved for partial matches and their further entries, used or not."""
        return self.partials.reserved_bytes + self.entries.reserved_bytes

    cdef PartialC* make(self) except NULL:
        cdef PartialC* partial = <PartialC*> allocate_block(self.partials)
        cdef int i
        partial.first.partial = NULL
        partial.entries = NULL
        partial.starts = NULL
        for i in range(self.n_slots):
            partial.slots[i] = NULL
        partial.timestamp = NEW
        partial.refs = 1
        partial.last_state = -1
        partial.unarmed = -1
        return partial

    cdef PartialC* copy(self, const PartialC* partial, int n_slots) except NULL:
        cdef int i
        cdef PartialC* made = self.make()
        made.timestamp = partial.timestamp
        for i in range(n_slots):
            made.slots[i] = partial.slots[i]
            if made.slots[i] is NULL:
                continue
            if self.counting[i]:
                collected_of(made, i).refs += 1
            else:
                made.slots[i].refs += 1
        return made

    cdef void drop(self, PartialC* partial) noexcept:
        cdef int i
        cdef uint32_t k
        cdef CollectedC* collected
        partial.refs -= 1
        if partial.refs:
            return
        remove_from_starts(partial)
        for i in range(self.n_slots):
            if partial.slots[i] is NULL:
                continue
            if not self.counting[i]:
                release(<EventPool> self.slot_pools[i], partial.slots[i])
                continue
            collected = collected_of(partial, i)
            collected.refs -= 1
            if collected.refs == 0:
                for k in range(collected.size):
                    release(<EventPool> self.slot_pools[i], collected.events[k])
                self.free_collected(collected)
        free_block(self.partials, partial)

    cdef void empty(self, PartialC* partial, int slot) noexcept:
        if partial.slots[slot] is not NULL:
            release(<EventPool> self.slot_pools[slot], partial.slots[slot])
            partial.slots[slot] = NULL

    cdef int collect(self, PartialC* partial, int slot, EventC* event) except -1:
        """Append an event to a counting slot. Consumes a reference to the event, even on failure."""
        cdef CollectedC* collected = collected_of(partial, slot)
        cdef bint done = False
        try:
            if collected is NULL or collected.refs > 1:
                collected = self.own(partial, slot)
            if collected.size == collected.capacity:
                self.grow_collected(collected)
            done = True
        finally:
            if not done:
                release(<EventPool> self.slot_pools[slot], event)
        collected.events[collected.size] = event
        collected.size += 1
        return 0

    cdef CollectedC* own(self, PartialC* partial, int slot) except NULL:
        """Return the list of a counting slot, unshared: copied if another partial match holds it, created if there is
        none."""
        cdef uint32_t k
        cdef CollectedC* shared = collected_of(partial, slot)
        cdef CollectedC* collected = <CollectedC*> PyMem_Calloc(1, sizeof(CollectedC))
        if collected is NULL:
            raise MemoryError
        collected.refs = 1
        if shared is not NULL:
            try:
                self.resize_collected(collected, max(1, shared.size))
            except MemoryError:
                PyMem_Free(collected)
                raise
            memcpy(collected.events, shared.events, shared.size * sizeof(void*))
            collected.size = shared.size
            for k in range(shared.size):
                shared.events[k].refs += 1
            shared.refs -= 1
        partial.slots[slot] = <EventC*> collected
        return collected

    cdef int grow_collected(self, CollectedC* collected) except -1:
        return self.resize_collected(collected, max(4, 2 * collected.capacity))

    cdef int resize_collected(self, CollectedC* collected, uint32_t capacity) except -1:
        cdef Py_ssize_t more = (<Py_ssize_t> capacity - <Py_ssize_t> collected.capacity) * <Py_ssize_t> sizeof(void*)
        cdef EventC** events
        if self.budget is not None:
            self.budget.take_bytes(more)
        events = <EventC**> PyMem_Realloc(collected.events, capacity * sizeof(void*))
        if events is NULL:
            if self.budget is not None:
                self.budget.give(more)
            raise MemoryError
        collected.events = events
        collected.capacity = capacity
        return 0

    cdef void free_collected(self, CollectedC* collected) noexcept:
        if self.budget is not None:
            self.budget.give(collected.capacity * <Py_ssize_t> sizeof(void*))
        PyMem_Free(collected.events)
        PyMem_Free(collected)

    cdef MatchEntryC* append(self, MatchListC* match_list, PartialC* partial, int state) except NULL:
        cdef MatchEntryC* entry = &partial.first
        if entry.partial is not NULL:
            entry = <MatchEntryC*> allocate_block(self.entries)
        entry.due = NULL
        entry.open = 0
        entry.met = 0
        entry.broken = False
        entry.keyed = False
        entry.bucket_next = NULL
        entry.state = state
        entry.partial = partial
        entry.sibling = partial.entries
        partial.entries = entry
        partial.refs += 1
        link_last(match_list, entry)
        return entry

    cdef void remove(self, MatchEntryC* entry) noexcept:
        cdef PartialC* partial = entry.partial
        cdef MatchEntryC** link = &partial.entries
        unlink(entry)
        while link[0] != entry:
            link = &link[0].sibling
        link[0] = entry.sibling
        if entry.due is not NULL:
            PyMem_Free(entry.due)
        if entry == &partial.first:
            entry.partial = NULL
        else:
            free_block(self.entries, entry)
        self.drop(partial)


cdef void unlink(MatchEntryC* entry) noexcept:
    """Remove an entry from its list."""
    cdef MatchListC* match_list = entry.list
    if entry.prev is NULL:
        match_list.head = entry.next
    else:
        entry.prev.next = entry.next
    if entry.next is NULL:
        match_list.tail = entry.prev
    else:
        entry.next.prev = entry.prev
    match_list.size -= 1


cdef void link_last(MatchListC* match_list, MatchEntryC* entry) noexcept:
    """Append an entry to a list; it must be in none."""
    entry.list = match_list
    entry.next = NULL
    entry.prev = match_list.tail
    if match_list.tail is NULL:
        match_list.head = entry
    else:
        match_list.tail.next = entry
    match_list.tail = entry
    match_list.size += 1


cdef void start_at(StartsC* starts, PartialC* partial, int64_t timestamp) noexcept:
    """Record a first event. Events arrive almost in order of time, so the position is searched from the newest."""
    cdef PartialC* before
    if partial.starts is NULL:
        partial.start = timestamp
        partial.latest = timestamp
    else:
        partial.latest = max(partial.latest, timestamp)
        if timestamp >= partial.start:
            starts.latest = max(starts.latest, timestamp)
            return
        remove_from_starts(partial)
        partial.start = timestamp
    if starts.oldest is NULL:
        starts.latest = partial.latest
    else:
        starts.latest = max(starts.latest, partial.latest)
    before = starts.newest
    while before is not NULL and before.start > partial.start:
        before = before.older
    link_start(starts, partial, before)


cdef void start_like(StartsC* starts, PartialC* partial, PartialC* other) noexcept:
    """Record the first events of a copy: those of the original, which may be complete and unlinked."""
    if other.starts is NULL:
        start_at(starts, partial, other.start)
        start_at(starts, partial, other.latest)
        return
    partial.start = other.start
    partial.latest = other.latest
    link_start(starts, partial, other)


cdef void link_start(StartsC* starts, PartialC* partial, PartialC* before) noexcept:
    """Insert a partial match after another; NULL: at the front."""
    cdef PartialC* after = starts.oldest if before is NULL else before.newer
    starts.total[0] += 1
    partial.starts = starts
    partial.older = before
    partial.newer = after
    if before is NULL:
        starts.oldest = partial
    else:
        before.newer = partial
    if after is NULL:
        starts.newest = partial
    else:
        after.older = partial


cdef void remove_from_starts(PartialC* partial) noexcept:
    cdef StartsC* starts = partial.starts
    if starts is NULL:
        return
    starts.total[0] -= 1
    partial.starts = NULL
    if partial.older is NULL:
        starts.oldest = partial.newer
    else:
        partial.older.newer = partial.newer
    if partial.newer is NULL:
        starts.newest = partial.older
    else:
        partial.newer.older = partial.older


cdef void sort_by_time(MatchListC* match_list) noexcept:
    """Sort entries stably by the time of their partial match; those without events go last."""
    cdef MatchEntryC* entry = match_list.head.next
    cdef MatchEntryC* following
    cdef MatchEntryC* before
    while entry is not NULL:
        following = entry.next
        before = entry.prev
        if comes_later(before.partial, entry.partial):
            while before is not NULL and comes_later(before.partial, entry.partial):
                before = before.prev
            unlink(entry)
            link_behind(match_list, entry, before)
        entry = following


cdef inline bint comes_later(const PartialC* partial, const PartialC* other) noexcept:
    if partial.timestamp == NEW:
        return other.timestamp != NEW
    return other.timestamp != NEW and partial.timestamp > other.timestamp


cdef void link_behind(MatchListC* match_list, MatchEntryC* entry, MatchEntryC* before) noexcept:
    """Insert an entry that is in no list after another; NULL: at the front."""
    cdef MatchEntryC* after = match_list.head if before is NULL else before.next
    entry.list = match_list
    entry.prev = before
    entry.next = after
    if before is NULL:
        match_list.head = entry
    else:
        before.next = entry
    if after is NULL:
        match_list.tail = entry
    else:
        after.prev = entry
    match_list.size += 1
