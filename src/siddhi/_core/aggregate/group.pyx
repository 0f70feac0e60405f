"""Group by: typed group keys and the lifetime of their aggregator states."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.string cimport memset

from siddhi._core.aggregate.aggregator cimport Aggregator
from siddhi._core.record.event cimport BOOL, CURRENT, FLOAT, INT, STRING, CellC, Layout
from siddhi._core.record.frame cimport TRUE, VALUE, box

cdef enum:
    MAX_KEY_CELLS = 64


cdef class GroupWatcher(Processor):
    """Observes the begin and end of groups."""

    cdef int begun(self, uint32_t group_id) except -1:
        return 0

    cdef int left(self, uint32_t group_id) except -1:
        return 0

    cdef int ended(self, uint32_t group_id) except -1:
        return 0

    cdef int cleared(self) except -1:
        return 0


cdef uint64_t read_key(GroupBy self, EventC* event, FrameC* frame, CellC* key) noexcept:
    """Read the cells of an event's key; returns the null bits."""
    cdef uint64_t nulls = 0
    cdef int i
    cdef EventC* source
    cdef KeyCellC* cell
    for i in range(self.n_cells):
        cell = &self.cells[i]
        source = event if cell.slot < 0 else frame.slots[cell.slot]
        if source is NULL or source.body[cell.word] & cell.bit:
            nulls |= (<uint64_t> 1) << i
            key[i].bits = 0
        elif cell.narrow:
            key[i].bits = 0
            key[i].i = (<CellC*> &source.body[cell.cell]).i
        else:
            key[i].bits = source.body[cell.cell]
    if self.partitioned:
        key[self.n_cells].bits = 0
        key[self.n_cells].i = <int> frame.partition
    return nulls


cdef inline int end(GroupBy self, uint32_t group_id) except -1:
    """Drop a group with its states."""
    cdef Aggregator aggregator
    for aggregator in self.aggregators:
        aggregator.destroy(group_id)
    self.unlink(group_id)
    self.keys.remove(group_id)
    return 0 if self.watcher is None else self.watcher.ended(group_id)


cdef class GroupBy:
    """Assigns group ids to events.

    Args:
        layouts: layout that each key cell is read from.
        positions: index of the attribute in that layout.
        slots: event slot that it is read from (-1: the current event).
        aggregators: aggregators with a state per group.
        partitioned: groups are separate per partition key.
        remembers: events return as EXPIRED through the same query (sliding windows).
    """

    def __cinit__(self, layouts, positions, slots, list aggregators not None, bint partitioned, bint remembers):
        cdef int i
        cdef Layout layout
        codes = []
        self.n_cells = len(positions)
        if self.n_cells + 1 > MAX_KEY_CELLS:
            raise ValueError(f"more than {MAX_KEY_CELLS - 1} attributes to group by")
        self.cells = <KeyCellC*> PyMem_Malloc(max(1, self.n_cells) * sizeof(KeyCellC))
        if self.cells is NULL:
            raise MemoryError
        for i in range(self.n_cells):
            layout = layouts[i]
            position = positions[i]
            self.cells[i].slot = slots[i]
            self.cells[i].cell = layout.cell(position)
            self.cells[i].word = layout.null_word(position)
            self.cells[i].bit = (<uint64_t> 1) << (<int> position & 63)
            self.cells[i].narrow = layout.codes[<int> position] in (INT, FLOAT, BOOL)
            codes.append(layout.codes[<int> position])
        self.partitioned = partitioned
        if partitioned:
            codes.append(INT)
        self.simple = self.n_cells == 1 and not partitioned and self.cells[0].slot < 0 and not self.cells[0].narrow
        self.is_text = self.simple and codes[0] == STRING
        self.keys = KeyMap(codes)
        self.aggregators = aggregators
        self.remembers = remembers

    def __dealloc__(self):
        PyMem_Free(self.cells)
        PyMem_Free(self.row_counts)
        PyMem_Free(self.links)
        PyMem_Free(self.first)
        PyMem_Free(self.dropping)

    def __len__(self):
        return self.keys.size

    cdef uint32_t group_of(self, EventC* event, FrameC* frame) except? 0xfffffffe:
        """Return the id of the event's group; create the group if it is new, and count the event."""
        cdef CellC key[64]
        cdef uint64_t nulls = 0
        cdef uint32_t* hint
        cdef KeyCellC* cell
        if self.simple:
            cell = self.cells
            key[0].bits = event.body[cell.cell]
            if self.is_text and not event.body[cell.word] & cell.bit:
                hint = &self.recent[near(key[0].bits)]
                if hint[0] < self.keys.used and self.keys.keys[hint[0]].o == key[0].o and self.keys.live[hint[0]]:
                    if frame.type == CURRENT:
                        self.row_counts[hint[0]] += 1
                        if self.remembers:
                            event.group = hint[0] + 1
                    return hint[0]
                hint[0] = self.enter(event, frame, key, nulls)
                return hint[0]
            if event.body[cell.word] & cell.bit:
                nulls, key[0].bits = 1, 0
            return self.enter(event, frame, key, nulls)
        nulls = read_key(self, event, frame, key)
        return self.enter(event, frame, key, nulls)

    cdef uint32_t find(self, EventC* event, FrameC* frame) except? 0xfffffffe:
        cdef CellC key[64]
        cdef uint64_t nulls = read_key(self, event, frame, key)
        return self.keys.find(key, nulls)

    cdef object key_of(self, EventC* event, FrameC* frame):
        cdef CellC key[64]
        cdef uint64_t nulls = read_key(self, event, frame, key)
        cdef int i, code
        values = []
        for i in range(self.n_cells):
            code = self.keys.codes[i]
            if (nulls >> i) & 1:
                values.append(None)
            elif code == BOOL:
                values.append(key[i].i == TRUE)
            else:
                values.append(box(VALUE, code, &key[i]))
        return tuple(values)

    def set_watcher(self, GroupWatcher watcher not None):
        """Set the observer of groups."""
        self.watcher = watcher

    cdef inline uint32_t enter(self, EventC* event, FrameC* frame, const CellC* key, uint64_t nulls) except? 0xfffffffe:
        cdef bint is_new = False
        cdef uint32_t group_id = self.keys.insert(key, nulls, &is_new)
        if is_new:
            try:
                self.begin(group_id)
            except:
                self.keys.remove(group_id)
                raise
        if frame.type == CURRENT:
            self.row_counts[group_id] += 1
            if self.remembers:
                event.group = group_id + 1
        return group_id

    cdef int begin(self, uint32_t group_id) except -1:
        """Create the states of a new group; on failure it is in no list."""
        cdef Aggregator aggregator
        cdef uint32_t* row_counts
        cdef GroupLinksC* links
        cdef Py_ssize_t capacity
        if group_id >= self.capacity:
            capacity = max(16, 2 * self.capacity, <Py_ssize_t> group_id + 1)
            links = <GroupLinksC*> PyMem_Realloc(self.links, capacity * sizeof(GroupLinksC))
            if links is NULL:
                raise MemoryError
            self.links = links
            row_counts = <uint32_t*> PyMem_Realloc(self.row_counts, capacity * sizeof(uint32_t))
            if row_counts is NULL:
                raise MemoryError
            memset(row_counts + self.capacity, 0, (capacity - self.capacity) * sizeof(uint32_t))
            self.row_counts = row_counts
            self.capacity = capacity
        self.row_counts[group_id] = 0
        for aggregator in self.aggregators:
            aggregator.create(group_id)
        self.link(group_id)
        if self.watcher is not None:
            try:
                self.watcher.begun(group_id)
            except:
                self.unlink(group_id)
                raise
        return 0

    cdef uint32_t partition_of(self, uint32_t group_id) noexcept:
        if not self.partitioned:
            return 0
        return <uint32_t> self.keys.keys[<Py_ssize_t> group_id * self.keys.width + self.n_cells].i

    cdef uint32_t first_of(self, uint32_t partition) noexcept:
        if not self.partitioned:
            partition = 0
        if partition >= self.n_partitions or self.first[partition] == NO_PARTITION:
            return NO_ID
        return self.first[partition]

    cdef uint32_t last_of(self, uint32_t partition) noexcept:
        cdef uint32_t group_id = self.first_of(partition)
        if group_id != NO_ID:
            while self.links[group_id].next != NO_ID:
                group_id = self.links[group_id].next
        return group_id

    cdef int open_partition(self, uint32_t partition) except -1:
        cdef uint32_t* first
        cdef Py_ssize_t i, n
        if partition >= self.n_partitions:
            n = max(1, 2 * self.n_partitions, <Py_ssize_t> partition + 1)
            first = <uint32_t*> PyMem_Realloc(self.first, n * sizeof(uint32_t))
            if first is NULL:
                raise MemoryError
            for i in range(self.n_partitions, n):
                first[i] = NO_PARTITION
            self.first = first
            self.n_partitions = n
        if self.first[partition] == NO_PARTITION:
            self.first[partition] = NO_ID
        return 0

    cdef int link(self, uint32_t group_id) except -1:
        """Add a group to the list of its partition."""
        cdef uint32_t partition = self.partition_of(group_id)
        self.open_partition(partition)
        self.put_first(group_id, partition)
        return 0

    cdef void put_first(self, uint32_t group_id, uint32_t partition) noexcept:
        self.links[group_id].previous = NO_ID
        self.links[group_id].next = self.first[partition]
        if self.first[partition] != NO_ID:
            self.links[self.first[partition]].previous = group_id
        self.first[partition] = group_id

    cdef void unlink(self, uint32_t group_id) noexcept:
        cdef GroupLinksC* node = &self.links[group_id]
        if node.next != NO_ID:
            self.links[node.next].previous = node.previous
        if node.previous != NO_ID:
            self.links[node.previous].next = node.next
        else:
            self.first[self.partition_of(group_id)] = node.next

    cdef void touch(self, uint32_t group_id) noexcept:
        """Move a group to the front of the list of its partition."""
        if self.links[group_id].previous != NO_ID:
            self.unlink(group_id)
            self.put_first(group_id, self.partition_of(group_id))

    cdef int last_left(self, uint32_t group_id) except -1:
        """Mark an empty group: if it is still empty when the chunk ends, it is dropped."""
        cdef uint32_t* dropping
        if self.watcher is not None:
            self.watcher.left(group_id)
        self.row_counts[group_id] = 0
        if self.n_dropping == self.dropping_capacity:
            dropping = <uint32_t*> PyMem_Realloc(self.dropping, max(16, 2 * self.dropping_capacity) * sizeof(uint32_t))
            if dropping is NULL:
                raise MemoryError
            self.dropping = dropping
            self.dropping_capacity = max(16, 2 * self.dropping_capacity)
        self.dropping[self.n_dropping] = group_id
        self.n_dropping += 1
        return 0

    cdef int reset(self, uint32_t partition) except -1:
        cdef uint32_t group_id = self.last_of(partition)
        cdef Aggregator aggregator
        while group_id != NO_ID:
            for aggregator in self.aggregators:
                aggregator.reset(group_id)
            self.last_left(group_id)
            group_id = self.links[group_id].previous
        return 0

    cdef int sweep(self) except -1:
        cdef Py_ssize_t i
        cdef uint32_t group_id
        for i in range(self.n_dropping):
            group_id = self.dropping[i]
            if self.keys.is_live(group_id) and self.row_counts[group_id] == 0:
                self.drop(group_id)
        self.n_dropping = 0
        return 0

    cdef bint is_over(self, uint32_t group_id) noexcept:
        cdef Aggregator aggregator
        for aggregator in self.aggregators:
            if not aggregator.is_empty(group_id):
                return False
        return True

    cdef int drop(self, uint32_t group_id) except -1:
        return end(self, group_id) if self.is_over(group_id) else 0

    cdef int discard(self, uint32_t group_id) except -1:
        return end(self, group_id)

    cdef int retire(self, uint32_t group_id) except -1:
        cdef Aggregator aggregator
        for aggregator in self.aggregators:
            aggregator.destroy(group_id)
            aggregator.create(group_id)
        self.row_counts[group_id] = 0
        return 0

    cdef void revive(self, uint32_t group_id) noexcept:
        pass

    cdef bint is_pinned(self, uint32_t group_id) noexcept:
        return False

    def drop_partition(self, uint32_t partition):
        """Drop every group of a partition id."""
        cdef uint32_t group_id = self.first_of(partition)
        while group_id != NO_ID:
            end(self, group_id)
            group_id = self.first_of(partition)
        if self.partitioned and partition < self.n_partitions:
            self.first[partition] = NO_PARTITION

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef uint32_t group_id
        cdef Aggregator aggregator
        self.keys.write(writer)
        for group_id in range(self.keys.id_bound()):
            if self.keys.is_live(group_id):
                writer.put_u32(self.row_counts[group_id])
                for aggregator in self.aggregators:
                    aggregator.write(group_id, writer)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef uint32_t group_id, partition
        cdef Aggregator aggregator
        for group_id in range(self.keys.id_bound()):
            if self.keys.is_live(group_id):
                for aggregator in self.aggregators:
                    if group_id < aggregator.capacity:     # false if memory ran out while the keys were read
                        aggregator.destroy(group_id)
        self.n_dropping = 0
        # The keys of the partition were read first: their ids are in use, and no others.
        for partition in range(self.n_partitions):
            if self.first[partition] != NO_PARTITION:
                self.first[partition] = NO_ID
        self.keys.clear()
        if self.watcher is not None:
            self.watcher.cleared()
        self.keys.read(reader)
        for group_id in range(self.keys.id_bound()):
            if self.keys.is_live(group_id):
                partition = self.partition_of(group_id)
                if self.partitioned and (partition >= self.n_partitions or self.first[partition] == NO_PARTITION):
                    raise ValueError(f"snapshot is damaged: a group has an unknown partition key ({partition})")
                self.begin(group_id)
                self.row_counts[group_id] = reader.get_u32()
                for aggregator in self.aggregators:
                    aggregator.read(group_id, reader)
        return 0
