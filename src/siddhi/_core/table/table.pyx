"""Tables in memory: rows, primary key, indexes."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.string cimport memcpy, memset

from siddhi._core.index.hash_index cimport MAX_WIDTH, NO_ID
from siddhi._core.record.arena cimport enlarge
from siddhi._core.record.event cimport (
    BOOL, CURRENT, OBJECT, STRING, acquire, cell_from_python, event_to_tuple, release, retain,
)
from siddhi._core.record.prefetch cimport prefetch_line
from siddhi._core.record.user_event cimport Event
from siddhi._core.runtime.key_limit cimport DROP_OLDEST
from siddhi._core.table.index cimport is_indexed, locate, read_cell_at


@cython.final
@cython.no_gc_clear
cdef class Table:
    """The rows of one table.

    Args:
        app: context of the app.
        id: name of the table.
        pool: pool of the rows; queries that insert write their output into it, so that a row needs no copy.
        layout: names and types of its attributes.
        primary_key: positions of the key's attributes; empty without a primary key.
        indexes: positions of the attributes with an index. Without a primary key they make the table a set.
    """

    def __cinit__(self, AppContext app not None, str id not None, EventPool pool not None, Layout layout not None,
                  tuple primary_key not None, tuple indexes=()):
        cdef int i
        self.app = app
        self.id = id
        self.pool = pool
        self.layout = layout
        self.primary_key = primary_key
        self.composite = len(primary_key) > 1
        self.declared = indexes
        self.distinct = bool(indexes) and not primary_key
        self.free = self.first = self.last = NO_ROW
        self.indexes = {}
        self.n_key_cells = len(primary_key)
        self.key_cells = <CellAtC*> PyMem_Malloc(max(1, self.n_key_cells) * sizeof(CellAtC))
        if self.key_cells is NULL:
            raise MemoryError
        for i in range(self.n_key_cells):
            locate(layout, primary_key[i], &self.key_cells[i])
        if primary_key:
            self.keys = KeyMap([layout.types[position] for position in primary_key])
            self.numeric_key = self.n_key_cells == 1 and self.key_cells[0].code not in (STRING, OBJECT, BOOL)
        self.note_indexed()

    def __dealloc__(self):
        cdef uint32_t number
        for number in range(self.used):
            if self.rows[number].event is not NULL:
                release(self.pool, self.rows[number].event)
        PyMem_Free(self.rows)
        PyMem_Free(self.numbers)
        PyMem_Free(self.key_cells)

    def __len__(self):
        return self.size

    def __repr__(self):
        return f"<Table '{self.id}' ({self.size} rows)>"

    # --- indexes

    def index(self, int position, bint sorted=False):
        """Return the index of an attribute; create it on first use.

        Args:
            position: index of the attribute.
            sorted: keep the values sorted, for ranges.
        """
        cdef ValueIndex index = self.indexes.get(position)
        cdef uint32_t number = self.first
        if index is None:
            index = ValueIndex(self.layout, position)
            while number != NO_ROW:
                index.add(number, self.rows[number].event)
                number = self.rows[number].next
            self.indexes[position] = index
            self.note_indexed()
        if sorted:
            index.sort()
        return index

    def note_indexed(self):
        """Update the mask of the attributes whose change affects indexes or key."""
        self.indexed = 0
        for position in (*self.primary_key, *self.indexes):
            self.indexed |= (<uint64_t> 1) << <int> position if position < 64 else ~<uint64_t> 0

    # --- keys

    cdef uint64_t key_of(self, const EventC* row, CellC* key) noexcept:
        cdef uint64_t nulls = 0
        cdef int i
        for i in range(self.n_key_cells):
            if not read_cell_at(&self.key_cells[i], row, &key[i]):
                nulls |= (<uint64_t> 1) << i
        return nulls

    cdef uint32_t number_of(self, const CellC* key, uint64_t nulls) except? 0xfffffffe:
        cdef uint32_t key_id = self.keys.find(key, nulls)
        if key_id == NO_ID:
            return NO_ROW
        if key_id < self.used:
            # Rows and keys inserted together have equal numbers: this usually prefetches the right row.
            prefetch_line(&self.rows[key_id])
        return self.numbers[key_id]

    cdef void prefetch(self, const uint64_t* hashes, Py_ssize_t n) noexcept:
        cdef uint32_t key_ids[PREFETCH_ROWS]
        cdef Py_ssize_t i, last = self.pool.record_bytes - 1
        cdef bint text = self.keys.has_text
        cdef EventC* event
        for i in range(n):
            prefetch_line(&self.keys.table[hashes[i] & self.keys.mask])
        for i in range(n):
            key_ids[i] = self.keys.guess(hashes[i])
            if key_ids[i] != NO_ID:
                prefetch_line(&self.keys.keys[key_ids[i]])
                prefetch_line(&self.numbers[key_ids[i]])
                if key_ids[i] < self.used:
                    prefetch_line(&self.rows[key_ids[i]])
        for i in range(n):
            if key_ids[i] != NO_ID:
                if text:
                    # The stored text will be compared with the searched one: prefetch its header and its first
                    # characters.
                    prefetch_line(self.keys.keys[key_ids[i]].o)
                    prefetch_line(<char*> self.keys.keys[key_ids[i]].o + 63)
                if self.numbers[key_ids[i]] != key_ids[i]:
                    key_ids[i] = self.numbers[key_ids[i]]
                    prefetch_line(&self.rows[key_ids[i]])
        for i in range(n):
            if key_ids[i] != NO_ID:
                event = self.rows[key_ids[i]].event
                if event is not NULL:
                    prefetch_line(event)
                    prefetch_line(<char*> event + last)

    cdef int refuse(self, EventC* event, str what) except -1:
        """Report a refused row or change to the app's exception handler."""
        cdef CellC key[MAX_WIDTH]
        cdef Event shown = Event.__new__(Event)
        shown.timestamp = event.timestamp
        shown.values = event_to_tuple(event, self.layout)
        shown.layout = self.layout
        self.refused += 1
        if self.quiet:
            return 0
        names = ", ".join([self.layout.names[position] for position in self.primary_key])
        values = ", ".join([repr(shown.values[position]) for position in self.primary_key])
        if self.numeric_key and self.key_of(event, key):
            why = f"its primary key {names} is null"
        else:
            why = f"the table holds another row of the primary key {names} = {values}"
        self.app.handle(ValueError(f"{what} table '{self.id}' is dropped: {why}"), f"table '{self.id}'", [shown])
        return 0

    # --- changes

    cdef int check_writable(self) except -1:
        if self.searching:
            raise RuntimeError(f"table '{self.id}' cannot change while a condition over its rows is evaluated")
        return 0

    cdef int reserve(self) except -1:
        """Make room for one more row."""
        cdef Py_ssize_t capacity
        cdef RowC* rows
        if self.free == NO_ROW and self.used == self.capacity:
            if self.capacity >= <Py_ssize_t> 0x7fffffff:
                raise MemoryError(f"table '{self.id}' is full")
            capacity = max(16, 2 * self.capacity)
            rows = <RowC*> enlarge(self.rows, self.used * sizeof(RowC), capacity * sizeof(RowC))
            if rows is NULL:
                raise MemoryError
            self.rows = rows
            self.capacity = capacity
        return 0

    cdef int reserve_key(self, uint32_t key_id) except -1:
        cdef Py_ssize_t capacity
        cdef uint32_t* numbers
        if key_id >= self.n_numbers:
            capacity = max(16, 2 * self.n_numbers, <Py_ssize_t> key_id + 1)
            numbers = <uint32_t*> enlarge(self.numbers, self.n_numbers * sizeof(uint32_t), capacity * sizeof(uint32_t))
            if numbers is NULL:
                raise MemoryError
            self.numbers = numbers
            self.n_numbers = capacity
        return 0

    cdef uint32_t insert(self, EventC* event) except? 0xfffffffe:
        """Append a row with the event's values, unless its primary key is taken. The caller keeps its reference."""
        cdef CellC key[MAX_WIDTH]
        cdef uint64_t nulls
        cdef uint32_t key_id = NO_ID
        cdef bint is_new = True
        cdef EventC* row
        self.check_writable()
        self.reserve()
        if self.keys is not None:
            nulls = self.key_of(event, key)
            if not (nulls and self.numeric_key):
                if self.limit is not None and self.keys.find(key, nulls) == NO_ID and not self.has_room():
                    return NO_ROW
                self.reserve_key(<uint32_t> self.keys.size if self.keys.free_id == NO_ID else self.keys.free_id)
                key_id = self.keys.insert(key, nulls, &is_new)
            if key_id == NO_ID or not is_new:
                self.refuse(event, "a row for")
                return NO_ROW
        elif self.limit is not None and not self.has_room():
            return NO_ROW
        row = self.adopt(event)
        self.enter(row, key_id)
        return self.last

    cdef bint has_room(self) except -1:
        """Return whether the limit allows one more row; with `drop.oldest` remove the oldest one."""
        if self.size < self.limit.most:
            return self.limit.allows(self.size + 1)
        if self.limit.on_full == DROP_OLDEST and self.size:
            self.remove(self.first)
            self.limit.drop()
            return True
        error = self.limit.refuse(None)
        if self.failure is None:
            self.failure = error
        return False

    cdef int fail(self) except -1:
        if self.failure is not None:
            error, self.failure = self.failure, None
            raise error
        return 0

    cdef EventC* adopt(self, EventC* event) except NULL:
        """Return a row of an event's values: the event itself if the caller is its only owner, else a copy."""
        if event.refs != 1:
            return self.copy(event)
        retain(self.pool, event)
        event.type = CURRENT
        if not self.distinct:
            event.timestamp = -1
        return event

    cdef EventC* copy(self, const EventC* event) except NULL:
        cdef int i
        cdef Layout layout = self.pool.layout
        cdef EventC* row = acquire(self.pool)
        cdef PyObject* value
        memcpy(row.body, event.body, 8 * (layout.words + layout.width))
        for i in range(layout.width):
            if layout.codes[i] == STRING or layout.codes[i] == OBJECT:
                if row.body[i >> 6] & ((<uint64_t> 1) << (i & 63)):
                    row.body[layout.words + i] = 0
                else:
                    value = <PyObject*> row.body[layout.words + i]
                    if value is not NULL:
                        Py_INCREF(<object> value)
        row.timestamp = event.timestamp if self.distinct else -1
        return row

    cdef int enter(self, EventC* row, uint32_t key_id) except -1:
        """Append a row; room is reserved and its key is free."""
        cdef uint32_t number
        cdef RowC* entry
        cdef ValueIndex index
        if self.free != NO_ROW:
            number = self.free
            self.free = self.rows[number].next
        else:
            number = self.used
            self.used += 1
        entry = &self.rows[number]
        entry.event = row
        entry.sequence = self.sequence
        self.sequence += 1
        entry.key = key_id
        entry.changed = False
        entry.previous = self.last
        entry.next = NO_ROW
        if self.last == NO_ROW:
            self.first = number
        else:
            self.rows[self.last].next = number
        self.last = number
        self.size += 1
        if self.keys is not None:
            self.numbers[key_id] = number
        if self.indexes:
            for index in self.indexes.values():
                index.add(number, row)
        return 0

    cdef int remove(self, uint32_t number) except -1:
        """Delete a row."""
        cdef RowC* entry = &self.rows[number]
        cdef EventC* row = entry.event
        cdef ValueIndex index
        self.check_writable()
        if self.indexes:
            for index in self.indexes.values():
                index.remove(number, row)
        if self.keys is not None:
            self.keys.remove(entry.key)
            if entry.changed:
                self.n_misfiled -= 1
        if entry.previous == NO_ROW:
            self.first = entry.next
        else:
            self.rows[entry.previous].next = entry.next
        if entry.next == NO_ROW:
            self.last = entry.previous
        else:
            self.rows[entry.next].previous = entry.previous
        entry.event = NULL
        entry.next = self.free
        self.free = number
        self.size -= 1
        release(self.pool, row)
        return 0

    cdef int replace(self, uint32_t number, EventC* row) except -1:
        cdef EventC* old = self.rows[number].event
        cdef ValueIndex index
        cdef CellC before, after
        cdef bint was, is_
        self.check_writable()
        if self.indexes:
            for index in self.indexes.values():
                was = is_indexed(&index.at, old, &before)
                is_ = is_indexed(&index.at, row, &after)
                if was != is_ or (was and before.bits != after.bits):
                    index.remove(number, old)
                    index.add(number, row)
        self.rows[number].event = row
        release(self.pool, old)
        return 0

    cdef bint change(self, const uint32_t* found, EventC** rows, Py_ssize_t n) except -1:
        """Replace all rows, or none if two rows would have the same primary key; return whether it was done."""
        cdef Py_ssize_t i
        cdef CellC key[MAX_WIDTH]
        cdef uint64_t nulls
        cdef uint32_t key_id
        cdef bint is_new = False
        self.check_writable()
        if self.composite:
            for i in range(n):
                self.replace(found[i], rows[i])
                self.note_filing(found[i])
            return True
        if self.keys is not None:
            if not self.is_key_free(found, rows, n):
                for i in range(n):
                    release(self.pool, rows[i])
                return False
            for i in range(n):
                nulls = self.key_of(rows[i], key)
                key_id = self.keys.find(key, nulls)
                if key_id == NO_ID or self.numbers[key_id] != found[i]:
                    self.keys.remove(self.rows[found[i]].key)
                    self.rows[found[i]].key = NO_ID
            for i in range(n):
                if self.rows[found[i]].key == NO_ID:
                    nulls = self.key_of(rows[i], key)
                    key_id = self.keys.insert(key, nulls, &is_new)
                    self.rows[found[i]].key = key_id
                    self.numbers[key_id] = found[i]
        for i in range(n):
            self.replace(found[i], rows[i])
        return True

    cdef bint is_moved(self, uint32_t number, const EventC* row) except -1:
        """Return whether the replacement of a row has another value of an index."""
        cdef CellAtC at
        cdef CellC before, after
        for position in self.declared:
            locate(self.layout, position, &at)
            if is_indexed(&at, self.rows[number].event, &before) and is_indexed(&at, row, &after):
                if at.code == STRING or at.code == OBJECT:
                    if before.o != after.o and <object> before.o != <object> after.o:
                        return True
                elif before.bits != after.bits:
                    return True
        return False

    cdef uint32_t row_of_key(self, const EventC* row) except? 0xfffffffe:
        cdef CellC key[MAX_WIDTH]
        cdef uint64_t nulls = self.key_of(row, key)
        return self.number_of(key, nulls)

    cdef int note_filing(self, uint32_t number) except -1:
        """Record whether the values of a row make another key than the one it is filed under."""
        cdef RowC* entry = &self.rows[number]
        cdef bint misfiled = self.row_of_key(entry.event) != number
        self.n_misfiled += <Py_ssize_t> misfiled - <Py_ssize_t> entry.changed
        entry.changed = misfiled
        return 0

    cdef bint is_key_free(self, const uint32_t* found, EventC** rows, Py_ssize_t n) except -1:
        """Return whether the new rows would leave all primary keys unique."""
        cdef Py_ssize_t i
        cdef CellC key[MAX_WIDTH]
        cdef uint64_t nulls
        cdef uint32_t number
        cdef bint is_new = True
        cdef KeyMap incoming = KeyMap(self.keys.types) if n > 1 else None
        cdef set leaving = {found[i] for i in range(n)} if n > 1 else None
        for i in range(n):
            nulls = self.key_of(rows[i], key)
            number = self.number_of(key, nulls)
            if incoming is not None:
                incoming.insert(key, nulls, &is_new)
            if (nulls and self.numeric_key) or not is_new or (
                    number != NO_ROW and number != found[i] and (leaving is None or number not in leaving)):
                self.refuse(rows[i], "a change of")
                return False
        return True

    cdef int clear(self) except -1:
        """Delete every row."""
        cdef uint32_t number, used = self.used
        cdef ValueIndex index
        cdef RowC* rows = self.rows
        self.check_writable()
        for index in self.indexes.values():
            index.clear()
        if self.keys is not None:
            self.keys.clear()
        self.rows = NULL
        self.capacity = 0
        self.used = 0
        self.size = 0
        self.n_misfiled = 0
        self.free = self.first = self.last = NO_ROW
        for number in range(used):
            if rows[number].event is not NULL:
                release(self.pool, rows[number].event)
        PyMem_Free(rows)
        return 0

    # --- snapshots: the rows in order, and the keys of those filed under another key than their own; keys and indexes
    # are rebuilt

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef uint32_t number = self.first
        cdef Py_ssize_t i = 0
        cdef EventC** events = <EventC**> PyMem_Malloc(max(1, self.size) * sizeof(EventC*))
        if events is NULL:
            raise MemoryError
        try:
            while number != NO_ROW:
                events[i] = self.rows[number].event
                i += 1
                number = self.rows[number].next
            writer.put_events(events, i, self.pool.layout)
        finally:
            PyMem_Free(events)
        if self.composite:
            self.write_misfiled(writer)
        return 0

    cdef int write_misfiled(self, SnapshotWriter writer) except -1:
        cdef KeyMap filed = KeyMap(self.keys.types)
        cdef uint32_t number = self.first, key, i = 0
        cdef bint is_new = False
        writer.put_u32(<uint32_t> self.n_misfiled)
        while number != NO_ROW:
            if self.rows[number].changed:
                key = self.rows[number].key
                filed.insert(&self.keys.keys[<Py_ssize_t> key * self.keys.width], self.keys.nulls[key], &is_new)
                writer.put_u32(i)
            i += 1
            number = self.rows[number].next
        if filed.size:
            filed.write(writer)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef EventC** events = NULL
        cdef Py_ssize_t i, n = reader.get_events(self.pool, &events)
        cdef CellC key[MAX_WIDTH]
        cdef uint64_t nulls
        cdef bint is_new = True, is_misfiled
        cdef uint32_t key_id = NO_ID, n_misfiled = 0, met = 0
        cdef list misfiled = []
        cdef KeyMap filed = None
        try:
            self.clear()
            if self.composite:
                n_misfiled = reader.get_u32()
                misfiled = [reader.get_u32() for _ in range(n_misfiled)]
                if n_misfiled:
                    filed = KeyMap(self.keys.types)
                    filed.read(reader)
                    if filed.size != <Py_ssize_t> n_misfiled or filed.used != n_misfiled:
                        raise ValueError(f"snapshot is damaged: table '{self.id}' has rows whose key is missing")
                    misfiled.append(-1)
            key_id = NO_ID
            for i in range(n):
                self.reserve()
                if self.keys is not None:
                    is_misfiled = met < n_misfiled and misfiled[met] == i
                    if is_misfiled:
                        key_id = self.keys.insert(&filed.keys[<Py_ssize_t> met * filed.width], filed.nulls[met], &is_new)
                        met += 1
                    else:
                        nulls = self.key_of(events[i], key)
                        key_id = self.keys.insert(key, nulls, &is_new)
                    if not is_new:
                        raise ValueError(f"snapshot is damaged: table '{self.id}' has two rows with one primary key")
                    self.reserve_key(key_id)
                self.enter(self.adopt(events[i]), key_id)
                if self.keys is not None and is_misfiled:
                    self.rows[self.last].changed = True
                    self.n_misfiled += 1
        finally:
            for i in range(n):
                release(self.pool, events[i])
            PyMem_Free(events)
        return 0

    def fill(self, rows):
        """Replace all rows; rows are given as sequences of values.

        Raises:
            ValueError: a row does not fit the table, or its key is taken; the table is empty then.
        """
        cdef EventC* record
        cdef int i
        cdef bint done = False
        self.clear()
        try:
            for row in rows:
                if len(row) != self.layout.width:
                    raise ValueError(f"a row of table '{self.id}' has {len(row)} values: expected {self.layout.width}")
                record = acquire(self.pool)
                record.timestamp = -1
                memset(record.body, 0, 8 * self.layout.words)
                try:
                    for i in range(self.layout.width):
                        cell_from_python(record, self.layout, i, row[i])
                    if self.insert(record) == NO_ROW:
                        self.fail()
                        raise ValueError(f"a row of table '{self.id}' is invalid: its primary key is null or taken")
                finally:
                    release(self.pool, record)
            done = True
        finally:
            if not done:
                self.clear()

    # --- for tests and tools

    def row_values(self):
        """Return all rows as tuples, in order of insertion."""
        cdef uint32_t number = self.first
        rows = []
        while number != NO_ROW:
            rows.append(event_to_tuple(self.rows[number].event, self.layout))
            number = self.rows[number].next
        return rows


cdef class TableState(Processor):
    """Writes and reads a table's rows in a snapshot."""

    def __init__(self, Table table not None):
        self.app = table.app
        self.table = table

    cdef int write(self, SnapshotWriter writer) except -1:
        return self.table.write(writer)

    cdef int read(self, SnapshotReader reader) except -1:
        return self.table.read(reader)
