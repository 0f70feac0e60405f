"""Group by: typed group keys and the life of their aggregator states."""

from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.string cimport memset

from siddhi._core.aggregate.aggregator cimport Aggregator
from siddhi._core.record.event cimport BOOL, CURRENT, FLOAT, INT, STRING, CellC, Layout
from siddhi._core.record.frame cimport TRUE, VALUE, box

cdef enum:
    MAX_KEY_CELLS = 64


cdef class GroupWatcher(Processor):
    """Watches groups begin and end."""

    cdef int begun(self, uint32_t slot) except -1:
        return 0

    cdef int left(self, uint32_t slot) except -1:
        return 0

    cdef int ended(self, uint32_t slot) except -1:
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


cdef inline int end(GroupBy self, uint32_t slot) except -1:
    """A group and all it holds goes."""
    cdef Aggregator aggregator
    for aggregator in self.aggregators:
        aggregator.destroy(slot)
    self.unlink(slot)
    self.keys.remove(slot)
    return 0 if self.watcher is None else self.watcher.ended(slot)


cdef class GroupBy:
    """Slots of groups.

    Args:
        layouts: the layout each key cell is read from.
        positions: the cell's position in it.
        slots: the event slot it is read from (-1: the current event).
        aggregators: those with a state per group.
        partitioned: whether groups are per partition key.
        remembers: whether events come back as EXPIRED through the same query (sliding windows).
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
        PyMem_Free(self.held)
        PyMem_Free(self.places)
        PyMem_Free(self.first)
        PyMem_Free(self.dropping)

    def __len__(self):
        return self.keys.size

    cdef uint32_t slot_of(self, EventC* event, FrameC* frame) except? 0xfffffffe:
        """The slot of the event's group, made if it is new. Counts the event in."""
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
                        self.held[hint[0]] += 1
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
        """Set the listener for groups that begin and end."""
        self.watcher = watcher

    cdef inline uint32_t enter(self, EventC* event, FrameC* frame, const CellC* key, uint64_t nulls) except? 0xfffffffe:
        cdef bint is_new = False
        cdef uint32_t slot = self.keys.insert(key, nulls, &is_new)
        if is_new:
            try:
                self.begin(slot)
            except:
                self.keys.remove(slot)
                raise
        if frame.type == CURRENT:
            self.held[slot] += 1
            if self.remembers:
                event.group = slot + 1
        return slot

    cdef int begin(self, uint32_t slot) except -1:
        """Make the states of a new group; on failure it is in no list."""
        cdef Aggregator aggregator
        cdef uint32_t* held
        cdef GroupLinksC* places
        cdef Py_ssize_t capacity
        if slot >= self.capacity:
            capacity = max(16, 2 * self.capacity, <Py_ssize_t> slot + 1)
            places = <GroupLinksC*> PyMem_Realloc(self.places, capacity * sizeof(GroupLinksC))
            if places is NULL:
                raise MemoryError
            self.places = places
            held = <uint32_t*> PyMem_Realloc(self.held, capacity * sizeof(uint32_t))
            if held is NULL:
                raise MemoryError
            memset(held + self.capacity, 0, (capacity - self.capacity) * sizeof(uint32_t))
            self.held = held
            self.capacity = capacity
        self.held[slot] = 0
        for aggregator in self.aggregators:
            aggregator.create(slot)
        self.link(slot)
        if self.watcher is not None:
            try:
                self.watcher.begun(slot)
            except:
                self.unlink(slot)
                raise
        return 0

    cdef uint32_t partition_of(self, uint32_t slot) noexcept:
        if not self.partitioned:
            return 0
        return <uint32_t> self.keys.keys[<Py_ssize_t> slot * self.keys.width + self.n_cells].i

    cdef uint32_t first_of(self, uint32_t partition) noexcept:
        if not self.partitioned:
            partition = 0
        if partition >= self.n_partitions or self.first[partition] == NO_PARTITION:
            return NO_SLOT
        return self.first[partition]

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
            self.first[partition] = NO_SLOT
        return 0

    cdef int link(self, uint32_t slot) except -1:
        """Put a group into the list of its partition."""
        cdef uint32_t partition = self.partition_of(slot)
        self.open_partition(partition)
        self.places[slot].previous = NO_SLOT
        self.places[slot].next = self.first[partition]
        if self.first[partition] != NO_SLOT:
            self.places[self.first[partition]].previous = slot
        self.first[partition] = slot
        return 0

    cdef void unlink(self, uint32_t slot) noexcept:
        cdef GroupLinksC* place = &self.places[slot]
        if place.next != NO_SLOT:
            self.places[place.next].previous = place.previous
        if place.previous != NO_SLOT:
            self.places[place.previous].next = place.next
        else:
            self.first[self.partition_of(slot)] = place.next

    cdef int last_left(self, uint32_t slot) except -1:
        """A group holds nothing: if that is so when the chunk ends, it goes."""
        cdef uint32_t* dropping
        self.held[slot] = 0
        if self.watcher is not None:
            self.watcher.left(slot)
        if self.n_dropping == self.dropping_capacity:
            dropping = <uint32_t*> PyMem_Realloc(self.dropping, max(16, 2 * self.dropping_capacity) * sizeof(uint32_t))
            if dropping is NULL:
                raise MemoryError
            self.dropping = dropping
            self.dropping_capacity = max(16, 2 * self.dropping_capacity)
        self.dropping[self.n_dropping] = slot
        self.n_dropping += 1
        return 0

    cdef int reset(self, uint32_t partition) except -1:
        cdef uint32_t slot = self.first_of(partition)
        cdef Aggregator aggregator
        while slot != NO_SLOT:
            for aggregator in self.aggregators:
                aggregator.reset(slot)
            self.last_left(slot)
            slot = self.places[slot].next
        return 0

    cdef int sweep(self) except -1:
        cdef Py_ssize_t i
        cdef uint32_t slot
        for i in range(self.n_dropping):
            slot = self.dropping[i]
            if self.keys.is_live(slot) and self.held[slot] == 0:
                self.drop(slot)
        self.n_dropping = 0
        return 0

    cdef bint is_over(self, uint32_t slot) noexcept:
        cdef Aggregator aggregator
        for aggregator in self.aggregators:
            if not aggregator.is_empty(slot):
                return False
        return True

    cdef int drop(self, uint32_t slot) except -1:
        return end(self, slot) if self.is_over(slot) else 0

    cdef int discard(self, uint32_t slot) except -1:
        return end(self, slot)

    cdef int retire(self, uint32_t slot) except -1:
        cdef Aggregator aggregator
        for aggregator in self.aggregators:
            aggregator.destroy(slot)
            aggregator.create(slot)
        self.held[slot] = 0
        return 0

    cdef void revive(self, uint32_t slot) noexcept:
        pass

    cdef bint is_pinned(self, uint32_t slot) noexcept:
        return False

    def drop_partition(self, uint32_t partition):
        """Forget every group of a partition slot, and the slot."""
        cdef uint32_t slot = self.first_of(partition)
        while slot != NO_SLOT:
            end(self, slot)
            slot = self.first_of(partition)
        if self.partitioned and partition < self.n_partitions:
            self.first[partition] = NO_PARTITION

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef uint32_t slot
        cdef Aggregator aggregator
        self.keys.write(writer)
        for slot in range(self.keys.slots()):
            if self.keys.is_live(slot):
                writer.put_u32(self.held[slot])
                for aggregator in self.aggregators:
                    aggregator.write(slot, writer)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef uint32_t slot, partition
        cdef Aggregator aggregator
        for slot in range(self.keys.slots()):
            if self.keys.is_live(slot):
                for aggregator in self.aggregators:
                    if slot < aggregator.capacity:     # not so where memory ran out while the keys were read
                        aggregator.destroy(slot)
        self.n_dropping = 0
        # The partition's keys were read first: those that are there are known, and no others.
        for partition in range(self.n_partitions):
            if self.first[partition] != NO_PARTITION:
                self.first[partition] = NO_SLOT
        self.keys.clear()
        if self.watcher is not None:
            self.watcher.cleared()
        self.keys.read(reader)
        for slot in range(self.keys.slots()):
            if self.keys.is_live(slot):
                partition = self.partition_of(slot)
                if self.partitioned and (partition >= self.n_partitions or self.first[partition] == NO_PARTITION):
                    raise ValueError(f"snapshot is damaged: a group of no partition key ({partition})")
                self.begin(slot)
                self.held[slot] = reader.get_u32()
                for aggregator in self.aggregators:
                    aggregator.read(slot, reader)
        return 0
