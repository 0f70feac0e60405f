# A partial match: the events found so far, one slot for each place of a stream in the pattern, and its places in the
# lists of states that may take it further.
#
# Partial matches are shared by reference: a counting state and the one behind it hold the same one. They are copied
# only where an `every` group starts again. `refs` counts its list entries and the outputs it waits for; the last one
# gives its events back. A slot is empty (NULL), one event, or, where the state counts, a list of events. Copies share
# both.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from siddhi._core.event cimport EventC, EventPool

cdef enum:
    NEW = -1                       # timestamp of a partial match that has taken no event

cdef struct CollectedC:            # events of a counting state, oldest first; whoever grows a shared one copies it
    EventC** events
    uint32_t refs
    uint32_t size
    uint32_t capacity

# A logical group may look for the same partial match by several keys. Its entry has a *mark* for each operand that has a
# key: an entry in the index instead of a list, `sibling` is the entry it stands for, `next` the mark of another operand.

cdef struct EntryC:                # the place of a partial match in a list
    EntryC* next
    EntryC* prev
    EntryC* sibling                # its next place elsewhere
    EntryC* bucket_next            # chain of the state's index, in the order of the list; of a group: its first mark
    EntryC* bucket_prev
    ListC* list
    PartialC* partial
    int64_t* due                   # [operands] when an absence is certain; NULL without
    uint64_t hash                  # of the key, where it is in the index
    bint keyed                     # it is
    uint32_t open                  # bit k: operand k of the logical group still looks at it
    uint32_t met                   # bit k: the absence of operand k is certain
    bint broken                    # an event has come that must not come before the others; of a count: it is stopped
    int32_t state                  # of a mark: the operand

cdef struct ListC:
    EntryC* head
    EntryC* tail
    Py_ssize_t size

cdef struct StartsC:               # those that have begun, by the time of their first event
    PartialC* oldest
    PartialC* newest
    int64_t latest                 # no event that `within` counts from is later
    Py_ssize_t* total              # how many there are, over all partition keys

cdef struct PartialC:
    # All links stand together in front: taking one partial match out touches one line of memory of each neighbour.
    PartialC* older                # by start, where it is in `starts`
    PartialC* newer
    EntryC first                   # its place while it has one only, which is the rule; first.partial NULL: free
    StartsC* starts
    EntryC* entries
    int64_t timestamp              # ms; of the last event taken, NEW: none
    int64_t start                  # ms; the first and the last of the events that `within` counts from
    int64_t latest
    uint32_t refs
    int32_t front                  # last state that has taken an event, -1: none
    int32_t unarmed                # state whose group starts again once a later state takes this, -1: none, -2: it has
    EventC* slots[1]

cdef class BlockPool:              # blocks of one size; grows by slabs
    cdef void* free
    cdef void** slabs
    cdef Py_ssize_t n_slabs
    cdef Py_ssize_t block_bytes
    cdef Py_ssize_t slab_blocks
    cdef readonly Py_ssize_t alive
    cdef readonly Py_ssize_t reserved_bytes
    cdef int grow(self) except -1

cdef inline void* take_block(BlockPool pool) except NULL:
    cdef void* block = pool.free
    if block is NULL:
        pool.grow()
        block = pool.free
    pool.free = (<void**> block)[0]
    pool.alive += 1
    return block

cdef inline void give_block(BlockPool pool, void* block) noexcept:
    (<void**> block)[0] = pool.free
    pool.free = block
    pool.alive -= 1

cdef class Matches:                # where the partial matches of one query come from
    cdef BlockPool partials
    cdef BlockPool entries         # second places
    cdef int n_slots
    cdef tuple pools               # of the slots' events
    cdef void** slot_pools         # the same, borrowed
    cdef bint* counting
    cdef PartialC* make(self) except NULL                    # refs == 1, all slots empty
    cdef PartialC* copy(self, const PartialC* partial, int n_slots) except NULL     # with the first n_slots slots
    cdef CollectedC* own(self, PartialC* partial, int slot) except NULL
    cdef void drop(self, PartialC* partial) noexcept         # give up one reference
    cdef void empty(self, PartialC* partial, int slot) noexcept      # give up the event of a slot that does not count
    cdef int collect(self, PartialC* partial, int slot, EventC* event) except -1   # takes over the event
    cdef EntryC* append(self, ListC* places, PartialC* partial, int state) except NULL   # adds a reference
    cdef void remove(self, EntryC* entry) noexcept           # drops the reference

cdef void start_at(StartsC* starts, PartialC* partial, int64_t timestamp) noexcept     # one of its first events came
cdef void start_like(StartsC* starts, PartialC* partial, PartialC* other) noexcept  # a copy with the same first events
cdef void leave_starts(PartialC* partial) noexcept
cdef void unlink(EntryC* entry) noexcept
cdef void sort_by_time(ListC* places) noexcept        # stably; those that have no event yet go last
cdef void link_last(ListC* places, EntryC* entry) noexcept

cdef inline CollectedC* collected_of(const PartialC* partial, int slot) noexcept:
    return <CollectedC*> partial.slots[slot]
