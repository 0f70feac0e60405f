# Group by: maps keys to group ids and manages the lifetime of a group's aggregator states.
#
# A group lives while a window holds events of it. After a sliding window, the group id is stored in the event
# (EventC.group = group id + 1), so that its expiry needs no second lookup. RESET empties all groups of a partition; keys
# keep their ids until the chunk ends, because the last event of a group may come before or after the RESET. The groups of
# a partition form a linked list, so that an operation on one partition does not visit the groups of the others.

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
    uint8_t narrow                 # a 4-byte value; the other half of the cell is undefined

cdef struct GroupLinksC:                # links of a group in the list of its partition
    uint32_t previous                   # NO_ID: none
    uint32_t next

cdef enum:
    NEARBY = 1024                  # entries of the hint table, see near()
    NO_PARTITION = 0xfffffffe      # instead of a first group: the partition id is not in use

cdef class GroupWatcher(Processor):
    # Is notified when a group begins, when its last row leaves the window, and when it has ended.
    cdef int begun(self, uint32_t group_id) except -1
    cdef int left(self, uint32_t group_id) except -1
    cdef int ended(self, uint32_t group_id) except -1
    cdef int cleared(self) except -1                           # all groups are removed, before a snapshot is read

cdef class GroupBy:
    cdef readonly KeyMap keys
    cdef GroupWatcher watcher      # or None
    cdef KeyCellC* cells
    cdef int n_cells
    cdef bint partitioned          # the partition id is part of the key
    cdef bint simple               # one 8-byte cell of the current event
    cdef bint is_text              # simple, and a string
    cdef uint32_t recent[NEARBY]   # hint table: group ids by the address of the text, see near()
    cdef bint remembers            # group ids are stored in events
    cdef list aggregators
    cdef uint32_t* row_counts            # [capacity] events of the group that have not expired
    cdef Py_ssize_t capacity
    cdef GroupLinksC* links            # [capacity]
    cdef uint32_t* first               # [n_partitions] first group of each partition
    cdef Py_ssize_t n_partitions
    cdef uint32_t* dropping        # groups whose last event expired in this chunk
    cdef Py_ssize_t n_dropping
    cdef Py_ssize_t dropping_capacity
    cdef uint32_t group_of(self, EventC* event, FrameC* frame) except? 0xfffffffe
    cdef uint32_t enter(self, EventC* event, FrameC* frame, const CellC* key, uint64_t nulls) except? 0xfffffffe
    cdef uint32_t find(self, EventC* event, FrameC* frame) except? 0xfffffffe      # NO_ID: the key has no group
    cdef object key_of(self, EventC* event, FrameC* frame)                         # a tuple
    cdef int discard(self, uint32_t group_id) except -1                            # drop a group with all its state
    cdef bint is_over(self, uint32_t group_id) noexcept  # whether a group without rows has no other state
    # Remove the state of a group. Its key keeps the group id until discard(), because rows of the current chunk refer to it.
    cdef int retire(self, uint32_t group_id) except -1
    cdef void revive(self, uint32_t group_id) noexcept             # start a retired group again, for a new event of its key
    cdef bint is_pinned(self, uint32_t group_id) noexcept          # whether rows of the current chunk refer to the group id
    cdef int begin(self, uint32_t group_id) except -1
    cdef uint32_t partition_of(self, uint32_t group_id) noexcept
    cdef uint32_t first_of(self, uint32_t partition) noexcept
    cdef uint32_t last_of(self, uint32_t partition) noexcept
    cdef int open_partition(self, uint32_t partition) except -1  # mark a partition id as used: snapshots may hold its groups
    cdef int link(self, uint32_t group_id) except -1
    cdef void put_first(self, uint32_t group_id, uint32_t partition) noexcept
    cdef void unlink(self, uint32_t group_id) noexcept
    cdef void touch(self, uint32_t group_id) noexcept              # mark a group as the one used last: RESET empties it last
    cdef int last_left(self, uint32_t group_id) except -1          # handle the expiry of a group's last event
    cdef int reset(self, uint32_t partition) except -1
    cdef int sweep(self) except -1
    cdef int drop(self, uint32_t group_id) except -1               # drop a group without state
    cdef int write(self, SnapshotWriter writer) except -1
    cdef int read(self, SnapshotReader reader) except -1

cdef inline int leave_group(GroupBy groups, uint32_t group_id) except -1:
    """Count an expired event of the group."""
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
    """Return the entry of the hint table for the address of a text; the hash spreads neighbouring addresses."""
    return (address * <uint64_t> 0x9e3779b97f4a7c15) >> 54

cdef inline void find_near(GroupBy groups, EventC** events, Py_ssize_t n, uint32_t* group_ids) noexcept:
    """Write the group ids of a block of events: those in the hint table, NO_ID for the others."""
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
    """Return the id of the group of an event that stores none; try the hint table of recent texts first."""
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
    """Drop the groups of which the window holds no row any more."""
    return groups.sweep() if groups.n_dropping else 0
