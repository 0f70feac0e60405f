# Group by: maps keys to group ids and manages the lifetime of a group's aggregator states.
#
# A group lives while a window holds events of it. Behind a sliding window the group id is stored in the
# event (EventC.group = group id + 1), so that its expiry needs no second look-up. RESET empties the groups of a
# partition at once; keys keep their id until the chunk ends, because the last event per group may stand on either
# side of the RESET. The groups of a partition form a list, so that what concerns one costs nothing for the others.

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from siddhi._core.index.hash_index cimport NO_ID, KeyMap
from siddhi._core.record.event cimport CellC, EventC
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef struct KeyCellC:
    int slot                     # event slot (joins, patterns), or -1: the current event
    int cell
    int word
    uint64_t bit
    uint8_t narrow                 # a 4-byte value: its other half means nothing

cdef struct GroupLinksC:                # of a group in the list of its partition
    uint32_t previous              # NO_ID: none
    uint32_t next

cdef enum:
    NEARBY = 1024                  # entries of the hint table, see near()
    NO_PARTITION = 0xfffffffe      # in place of a first group: there is no such partition key

cdef class GroupWatcher(Processor):
    # Is notified when a group begins, when no window holds a row of it any more, and when it has ended.
    cdef int begun(self, uint32_t group_id) except -1
    cdef int left(self, uint32_t group_id) except -1
    cdef int ended(self, uint32_t group_id) except -1
    cdef int cleared(self) except -1                           # all at once: a snapshot is to be read

cdef class GroupBy:
    cdef readonly KeyMap keys
    cdef GroupWatcher watcher      # or None
    cdef KeyCellC* cells
    cdef int n_cells
    cdef bint partitioned          # the partition id is part of the key
    cdef bint simple               # one 8-byte cell of the current event
    cdef bint is_text              # simple, and a string
    cdef uint32_t recent[NEARBY]   # group ids by address of the text seen last, as a hint
    cdef bint remembers            # group ids are stored in events
    cdef list aggregators
    cdef uint32_t* row_counts            # [capacity] events of the group that have not expired
    cdef Py_ssize_t capacity
    cdef GroupLinksC* links            # [capacity]
    cdef uint32_t* first           # [n_partitions] first group of each partition
    cdef Py_ssize_t n_partitions
    cdef uint32_t* dropping        # groups that lost their last event in this chunk
    cdef Py_ssize_t n_dropping
    cdef Py_ssize_t dropping_capacity
    cdef uint32_t group_of(self, EventC* event, FrameC* frame) except? 0xfffffffe
    cdef uint32_t enter(self, EventC* event, FrameC* frame, const CellC* key, uint64_t nulls) except? 0xfffffffe
    cdef uint32_t find(self, EventC* event, FrameC* frame) except? 0xfffffffe      # NO_ID: no such group
    cdef object key_of(self, EventC* event, FrameC* frame)                         # a tuple
    cdef int discard(self, uint32_t group_id) except -1            # drop a group whatever it holds
    cdef bint is_over(self, uint32_t group_id) noexcept            # nothing is held of a group whose rows have left
    # Forget what a group holds. The group id stays the key's until it is discarded: rows of the current chunk name it.
    cdef int retire(self, uint32_t group_id) except -1
    cdef void revive(self, uint32_t group_id) noexcept             # an event of a retired key comes: it begins anew
    cdef bint is_pinned(self, uint32_t group_id) noexcept          # something of the current chunk names the group id
    cdef int begin(self, uint32_t group_id) except -1
    cdef uint32_t partition_of(self, uint32_t group_id) noexcept
    cdef uint32_t first_of(self, uint32_t partition) noexcept
    cdef int open_partition(self, uint32_t partition) except -1  # a key of it is there: snapshots may hold its groups
    cdef int link(self, uint32_t group_id) except -1
    cdef void unlink(self, uint32_t group_id) noexcept
    cdef int last_left(self, uint32_t group_id) except -1          # the last event of a group expired
    cdef int reset(self, uint32_t partition) except -1
    cdef int sweep(self) except -1
    cdef int drop(self, uint32_t group_id) except -1               # a group of which nothing is held
    cdef int write(self, SnapshotWriter writer) except -1
    cdef int read(self, SnapshotReader reader) except -1

cdef inline int leave_group(GroupBy groups, uint32_t group_id) except -1:
    """An event of the group expired."""
    if groups.row_counts[group_id] > 1:
        groups.row_counts[group_id] -= 1
        return 0
    return groups.last_left(group_id)

cdef inline uint32_t group_in(GroupBy groups, EventC* event, FrameC* frame) except? 0xfffffffe:
    """Return the id of an event's group; see GroupBy.group_of."""
    if event.group != 0 and groups.remembers:
        return event.group - 1
    return groups.group_of(event, frame)

cdef inline uint64_t near(uint64_t address) noexcept:
    """Return the entry of the hint table for a text's address; neighbours in memory are spread."""
    return (address * <uint64_t> 0x9e3779b97f4a7c15) >> 54

cdef inline void find_near(GroupBy groups, EventC** events, Py_ssize_t n, uint32_t* group_ids) noexcept:
    """Write the group ids of a block of events that the hint table knows, NO_ID for the others."""
    cdef Py_ssize_t j
    cdef uint64_t key
    cdef uint32_t hint
    cdef int cell = groups.cells.cell, word = groups.cells.word
    cdef uint64_t bit = groups.cells.bit
    cdef const CellC* keys = groups.keys.keys
    cdef const uint8_t* live = groups.keys.live
    cdef uint32_t used = groups.keys.used
    cdef bint known
    if not groups.is_text:
        used = 0
    for j in range(n):
        key = events[j].body[cell]
        hint = groups.recent[near(key)]
        known = hint < used and keys[hint].bits == key and live[hint] and not events[j].body[word] & bit
        group_ids[j] = hint if known else NO_ID

cdef inline uint32_t group_near(GroupBy groups, EventC* event, FrameC* frame) except? 0xfffffffe:
    """As group_in, for events that store no group id: the hint table knows texts that came lately."""
    cdef uint64_t key
    cdef uint32_t hint
    if groups.is_text and not event.body[groups.cells.word] & groups.cells.bit:
        key = event.body[groups.cells.cell]
        hint = groups.recent[near(key)]
        if hint < groups.keys.used and groups.keys.keys[hint].bits == key and groups.keys.live[hint]:
            groups.row_counts[hint] += 1
            return hint
    return groups.group_of(event, frame)

cdef inline int end_chunk(GroupBy groups) except -1:
    """Drop the groups that no window holds any more."""
    return groups.sweep() if groups.n_dropping else 0
