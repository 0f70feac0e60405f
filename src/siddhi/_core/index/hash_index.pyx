"""Map typed keys to dense ids: an open-addressing table of ids, with the keys beside it."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport Py_EQ, PyObject, PyObject_RichCompareBool
from cpython.ref cimport Py_DECREF, Py_INCREF
from cpython.unicode cimport PyUnicode_CheckExact
from libc.stdint cimport uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset

from siddhi._core.index.object_hash cimport object_hash
from siddhi._core.record.arena cimport allocate_arena, enlarge, free_arena
from siddhi._core.record.event cimport BOOL, DOUBLE, INT, LONG, OBJECT, STRING, CellC
from siddhi._core.record.frame cimport TRUE, VALUE, box, unbox
from siddhi._core.record.prefetch cimport prefetch_line

cdef extern from "siddhi/text.h":
    bint siddhi_same_text(void* a, void* b)

cdef extern from "Python.h":
    PyObject* PyUnicode_FromObject(PyObject* text) except NULL      # a new reference to the same text as an exact str

cdef enum Shape:
    ONE_TEXT                # one string
    ONE_NUMBER              # one int, long or bool
    ANY                     # everything else

cdef enum:
    SMALL_TABLE = 1024      # clear keeps tables up to this size, and larger ones that were in use


@cython.final
cdef class KeyMap:
    """Keys of fixed types, each with its id.

    Args:
        types: :class:`TypeCode` of each cell of a key, 1 to 64 of them.
    """

    def __cinit__(self, types):
        cdef int i
        self.types = tuple(types)
        self.width = len(self.types)
        self.free_id = NO_ID
        if not 1 <= self.width <= MAX_WIDTH:
            raise ValueError(f"a key has 1 to {MAX_WIDTH} parts, not {self.width}")
        self.codes = <uint8_t*> PyMem_Malloc(self.width)
        if self.codes is NULL:
            raise MemoryError
        for i in range(self.width):
            self.codes[i] = self.types[i]
            self.has_text |= self.codes[i] == STRING or self.codes[i] == OBJECT
            self.has_objects |= self.codes[i] == OBJECT
        self.shape = ANY
        if self.width == 1:
            if self.codes[0] == STRING:
                self.shape = ONE_TEXT
            elif self.codes[0] in (INT, LONG, BOOL):
                self.shape = ONE_NUMBER

    def __dealloc__(self):
        self.forget()
        PyMem_Free(self.codes)

    # --- looking up

    cdef uint32_t find(self, const CellC* key, uint64_t nulls) except? 0xfffffffe:
        cdef uint64_t hash
        return lookup(self, key, nulls, &hash)

    cdef uint32_t insert(self, const CellC* key, uint64_t nulls, bint* is_new) except? 0xfffffffe:
        cdef uint64_t hash
        cdef uint32_t key_id = lookup(self, key, nulls, &hash)
        is_new[0] = key_id == NO_ID
        return add(self, key, nulls, hash) if key_id == NO_ID else key_id

    cdef bint is_simple(self) noexcept:
        return self.shape != ANY

    cdef uint64_t hash_of_one(self, const CellC* key) noexcept:
        return mix(text_hash(key.o) if self.shape == ONE_TEXT else canonical(self.codes[0], key))

    cdef uint32_t guess(self, uint64_t hash) noexcept:
        cdef uint64_t at = hash & self.mask, entry
        if self.size == 0:
            return NO_ID
        while True:
            entry = self.table[at]
            if entry == FREE:
                return NO_ID
            if (entry ^ hash) >> 32 == 0:
                return <uint32_t> entry
            at = (at + 1) & self.mask

    cdef void prefetch(self, const CellC* key, uint64_t nulls) noexcept:
        if self.size == 0 or nulls:
            return
        if self.shape == ONE_TEXT:
            prefetch_line(&self.table[mix(text_hash(key.o)) & self.mask])
        elif self.shape == ONE_NUMBER:
            prefetch_line(&self.table[mix(canonical(self.codes[0], key)) & self.mask])

    cdef void prefetch_key(self, uint32_t key_id) noexcept:
        if key_id < self.used:
            prefetch_line(&self.table[self.hashes[key_id] & self.mask])

    cdef bint is_live(self, uint32_t key_id) noexcept:
        return key_id < self.used and self.live[key_id]

    cdef uint32_t id_bound(self) noexcept:
        return self.used

    cdef object key_to_python(self, uint32_t key_id):
        cdef int i
        cdef CellC* key = &self.keys[<Py_ssize_t> key_id * self.width]
        cdef list values = []
        for i in range(self.width):
            if (self.nulls[key_id] >> i) & 1:
                values.append(None)
            elif self.codes[i] == BOOL:
                values.append(key[i].i == TRUE)
            else:
                values.append(box(VALUE, self.codes[i], &key[i]))
        return tuple(values)

    # --- changing

    cdef int remove(self, uint32_t key_id) except -1:
        """Remove a key; KeyError if the id has none."""
        cdef uint64_t at, hole, home
        cdef uint64_t* table = self.table
        cdef uint64_t mask = self.mask
        cdef int i
        cdef CellC* key
        cdef PyObject* value
        if not self.is_live(key_id):
            raise KeyError(key_id)
        hole = self.hashes[key_id] & mask
        while <uint32_t> table[hole] != key_id:
            hole = (hole + 1) & mask
        # Backward shift: an entry after the hole moves into it unless it would then precede its home; no tombstones.
        at = (hole + 1) & mask
        while table[at] != FREE:
            home = self.hashes[<uint32_t> table[at]] & mask
            if ((at - home) & mask) >= ((at - hole) & mask):
                table[hole] = table[at]
                hole = at
            at = (at + 1) & mask
        table[hole] = FREE
        self.live[key_id] = False
        self.hashes[key_id] = self.free_id
        self.free_id = key_id
        self.size -= 1
        if self.has_text:
            for i in range(self.width):
                if self.codes[i] == STRING or self.codes[i] == OBJECT:
                    # Located anew each time: the destructor of an object may run code that changes this map.
                    key = &self.keys[<Py_ssize_t> key_id * self.width + i]
                    value = <PyObject*> key.o
                    key.o = NULL
                    if value is not NULL:
                        Py_DECREF(<object> value)
                    if self.has_objects and (key_id >= self.used or self.live[key_id]):
                        break
        if self.size == 0:
            # No id is in use: they are given out from 0 on, and a snapshot need not list them as free.
            self.used = 0
            self.free_id = NO_ID
        return 0

    cdef int clear(self) except -1:
        """Remove all keys; ids begin at 0 again."""
        cdef uint32_t key_id, used = self.used
        cdef int i
        cdef CellC* key
        if used == 0:
            return 0
        if self.has_objects or (self.mask >= SMALL_TABLE and 8 * <uint64_t> used < self.mask):
            self.forget()
            return 0
        memset(self.table, 0xff, (self.mask + 1) * sizeof(uint64_t))
        self.size = 0
        self.used = 0
        self.free_id = NO_ID
        if self.has_text:
            # Exact strings: releasing them runs no Python code.
            for key_id in range(used):
                if self.live[key_id]:
                    for i in range(self.width):
                        key = &self.keys[<Py_ssize_t> key_id * self.width + i]
                        if self.codes[i] == STRING and key.o is not NULL:
                            Py_DECREF(<object> <PyObject*> key.o)
        return 0

    cdef void forget(self) noexcept:
        """Remove all entries and release their memory."""
        cdef CellC* keys = self.keys
        cdef uint64_t* nulls = self.nulls
        cdef uint64_t* hashes = self.hashes
        cdef uint8_t* live = self.live
        cdef uint64_t* table = self.table
        cdef uint32_t key_id, used = self.used
        cdef int i
        self.keys, self.nulls, self.hashes, self.live, self.table = NULL, NULL, NULL, NULL, NULL
        self.mask, self.size, self.capacity, self.used, self.free_id = 0, 0, 0, 0, NO_ID
        if self.has_text:
            for key_id in range(used):
                if live[key_id]:
                    for i in range(self.width):
                        if self.codes[i] == STRING or self.codes[i] == OBJECT:
                            if keys[<Py_ssize_t> key_id * self.width + i].o is not NULL:
                                Py_DECREF(<object> <PyObject*> keys[<Py_ssize_t> key_id * self.width + i].o)
        PyMem_Free(keys)
        PyMem_Free(nulls)
        PyMem_Free(hashes)
        PyMem_Free(live)
        free_arena(table)

    cdef int allocate(self, Py_ssize_t capacity) except -1:
        """Make room for `capacity` ids. Arrays enlarged before a failure stay enlarged, which is harmless."""
        cdef void* memory
        memory = enlarge(self.keys, self.used * self.width * sizeof(CellC), capacity * self.width * sizeof(CellC))
        if memory is NULL:
            raise MemoryError
        self.keys = <CellC*> memory
        memory = enlarge(self.nulls, self.used * sizeof(uint64_t), capacity * sizeof(uint64_t))
        if memory is NULL:
            raise MemoryError
        self.nulls = <uint64_t*> memory
        memory = enlarge(self.hashes, self.used * sizeof(uint64_t), capacity * sizeof(uint64_t))
        if memory is NULL:
            raise MemoryError
        self.hashes = <uint64_t*> memory
        memory = enlarge(self.live, self.used, capacity)
        if memory is NULL:
            raise MemoryError
        self.live = <uint8_t*> memory
        self.capacity = capacity
        return 0

    cdef int rehash(self, uint64_t mask) except -1:
        """Allocate a table of mask + 1 entries."""
        cdef uint32_t key_id
        cdef uint64_t* table = <uint64_t*> allocate_arena((mask + 1) * sizeof(uint64_t))
        if table is NULL:
            raise MemoryError
        free_arena(self.table)
        memset(table, 0xff, (mask + 1) * sizeof(uint64_t))
        self.table = table
        self.mask = mask
        for key_id in range(self.used):
            if self.live[key_id]:
                enter(self, key_id)
        return 0

    # --- snapshots

    cdef int write(self, SnapshotWriter writer) except -1:
        return write_keys(self, writer)

    cdef int read(self, SnapshotReader reader) except -1:
        """Replace the content; empty on failure."""
        self.clear()
        try:
            read_keys(self, reader)
        except BaseException:
            self.clear()
            raise
        return 0

    cdef int set_key(self, uint32_t key_id, const CellC* key, uint64_t nulls) except -1:
        """Store a key under an unused id. The id lies after those given out, and there is room."""
        cdef uint64_t hash
        if lookup(self, key, nulls, &hash) != NO_ID:
            raise ValueError("snapshot is damaged: a key comes twice")
        self.free_id = key_id
        self.hashes[key_id] = NO_ID
        add(self, key, nulls, hash)
        self.used = key_id + 1
        return 0

    # --- for tests and for debugging

    def __len__(self):
        return self.size

    def id_of(self, tuple key not None):
        """Return the id of a key, or None."""
        cdef CellC[MAX_WIDTH] cells
        cdef uint32_t key_id = self.find(cells, read_key(self, key, cells))
        return None if key_id == NO_ID else key_id

    def add(self, tuple key not None):
        """Return ``(id, is_new)`` of a key, added if it was absent."""
        cdef CellC[MAX_WIDTH] cells
        cdef bint is_new = False
        cdef uint32_t key_id = self.insert(cells, read_key(self, key, cells), &is_new)
        return key_id, is_new

    def discard(self, uint32_t key_id):
        """Remove the key of an id."""
        self.remove(key_id)

    def empty(self):
        """Forget all keys."""
        self.clear()

    def items(self):
        """Return ``{id: key}``."""
        cdef uint32_t key_id
        return {key_id: self.key_to_python(key_id) for key_id in range(self.used) if self.live[key_id]}

    def save(self):
        """Return the keys and their ids as bytes."""
        cdef SnapshotWriter writer = SnapshotWriter()
        self.write(writer)
        return writer.getvalue()

    def load(self, bytes data not None):
        """Replace the content by what :meth:`save` wrote."""
        cdef SnapshotReader reader = SnapshotReader(data)
        self.read(reader)


cdef uint64_t read_key(KeyMap self, tuple key, CellC* cells) except? 0:
    """Cells of a Python key (its objects stay the key's); the null bits."""
    cdef int i
    cdef uint64_t nulls = 0
    if len(key) != self.width:
        raise ValueError(f"a key of {self.width} parts expected, not {key!r}")
    for i in range(self.width):
        if key[i] is None:
            nulls |= (<uint64_t> 1) << i
        else:
            unbox(key[i], self.codes[i], &cells[i])
    return nulls


# --- hashing and comparing

cdef int hash_of(KeyMap self, const CellC* key, uint64_t nulls, uint64_t* out) except -1:
    cdef int i
    cdef uint64_t hash = 0, part
    for i in range(self.width):
        if (nulls >> i) & 1:
            part = NULL_HASH
        elif self.codes[i] == STRING:
            part = text_hash(key[i].o)
        elif self.codes[i] == OBJECT:
            part = <uint64_t> object_hash(<object> <PyObject*> key[i].o)
        else:
            part = canonical(self.codes[i], &key[i])
        hash = mix(hash * 31 + part)
    out[0] = hash
    return 0


cdef bint same_object(KeyMap self, const CellC* a, PyObject* other) except -1:
    """Compare by Python's ==, which may run any code; raise if the key or the table was changed by it."""
    cdef uint64_t* table = self.table
    cdef object mine = <object> <PyObject*> a.o
    cdef bint answer = PyObject_RichCompareBool(<object> other, mine, Py_EQ)
    if table is not self.table:
        raise RuntimeError("the keys changed while they were compared")
    return answer


cdef bint same_key(KeyMap self, uint32_t key_id, const CellC* key, uint64_t nulls) except -1:
    cdef int i
    cdef CellC* mine = &self.keys[<Py_ssize_t> key_id * self.width]
    if self.nulls[key_id] != nulls:
        return False
    for i in range(self.width):
        if (nulls >> i) & 1:
            continue
        if self.codes[i] == STRING:
            if not siddhi_same_text(key[i].o, mine[i].o):
                return False
        elif self.codes[i] != OBJECT:
            if canonical(self.codes[i], &key[i]) != mine[i].bits:
                return False
    if self.has_objects:
        for i in range(self.width):
            if not (nulls >> i) & 1 and self.codes[i] == OBJECT:
                if not self.live[key_id]:
                    return False
                if not same_object(self, &self.keys[<Py_ssize_t> key_id * self.width + i], <PyObject*> key[i].o):
                    return False
    return True


cdef uint32_t lookup(KeyMap self, const CellC* key, uint64_t nulls, uint64_t* out) except? 0xfffffffe:
    cdef uint64_t hash, at, entry
    cdef uint32_t key_id
    cdef void* text
    if self.shape == ONE_TEXT and nulls == 0:
        text = key.o
        hash = mix(text_hash(text))
        out[0] = hash
        if self.size == 0:
            return NO_ID
        at = hash & self.mask
        while True:
            entry = self.table[at]
            if entry == FREE:
                return NO_ID
            if (entry ^ hash) >> 32 == 0:
                key_id = <uint32_t> entry
                # A null has no text; its hash is one of many, so it may come this way.
                if self.keys[key_id].o == text or (
                        self.keys[key_id].o is not NULL and siddhi_same_text(self.keys[key_id].o, text)):
                    return key_id
            at = (at + 1) & self.mask
    if self.shape == ONE_NUMBER and nulls == 0:
        hash = canonical(self.codes[0], key)
        entry = hash
        hash = mix(hash)
        out[0] = hash
        return lookup_number(self, entry, hash) if self.size else NO_ID
    hash_of(self, key, nulls, &hash)
    out[0] = hash
    if self.size == 0:
        return NO_ID
    at = hash & self.mask
    while True:
        entry = self.table[at]
        if entry == FREE:
            return NO_ID
        if (entry ^ hash) >> 32 == 0 and same_key(self, <uint32_t> entry, key, nulls):
            return <uint32_t> entry
        at = (at + 1) & self.mask


cdef inline uint32_t lookup_number(KeyMap self, uint64_t bits, uint64_t hash) noexcept:
    cdef uint64_t entry, at = hash & self.mask
    cdef uint32_t key_id
    while True:
        entry = self.table[at]
        if entry == FREE:
            return NO_ID
        key_id = <uint32_t> entry
        if (entry ^ hash) >> 32 == 0 and self.keys[key_id].bits == bits and (bits != 0 or self.nulls[key_id] == 0):
            return key_id
        at = (at + 1) & self.mask


cdef inline void enter(KeyMap self, uint32_t key_id) noexcept:
    """Enter an id whose key and hash are written; there is room."""
    cdef uint64_t hash = self.hashes[key_id]
    cdef uint64_t at = hash & self.mask
    while self.table[at] != FREE:
        at = (at + 1) & self.mask
    self.table[at] = (hash & HIGH_HALF) | key_id


cdef uint32_t add(KeyMap self, const CellC* key, uint64_t nulls, uint64_t hash) except? 0xfffffffe:
    """Return an id for an absent key. Everything that may fail comes first."""
    cdef int i
    cdef uint32_t key_id
    cdef CellC* mine
    cdef PyObject* text
    if self.free_id == NO_ID and self.used == self.capacity:
        if self.capacity >= <Py_ssize_t> 0x7fffffff:
            raise MemoryError("too many keys")
        self.allocate(max(8, 2 * self.capacity))
    if self.table is NULL or 2 * <uint64_t> (self.size + 1) > self.mask + 1:
        self.rehash(2 * self.mask + 1 if self.table is not NULL else 15)
    key_id = self.used if self.free_id == NO_ID else self.free_id
    mine = &self.keys[<Py_ssize_t> key_id * self.width]
    memset(mine, 0, self.width * sizeof(CellC))
    for i in range(self.width):
        if (nulls >> i) & 1:
            continue
        if self.codes[i] == STRING:
            if PyUnicode_CheckExact(<object> <PyObject*> key[i].o):
                Py_INCREF(<object> <PyObject*> key[i].o)
                mine[i].o = key[i].o
            else:
                text = PyUnicode_FromObject(<PyObject*> key[i].o)
                mine[i].o = <void*> text
        elif self.codes[i] == OBJECT:
            Py_INCREF(<object> <PyObject*> key[i].o)
            mine[i].o = key[i].o
        else:
            mine[i].bits = canonical(self.codes[i], &key[i])
    if self.free_id == NO_ID:
        self.used += 1
    else:
        self.free_id = <uint32_t> self.hashes[key_id]
    self.nulls[key_id] = nulls
    self.hashes[key_id] = hash
    self.live[key_id] = True
    self.size += 1
    enter(self, key_id)
    return key_id


# --- Keys of a map and their ids in a snapshot.

cdef int damaged(str why) except -1:
    raise ValueError(f"snapshot is damaged: {why}")


# --- writing

cdef int write_keys(KeyMap keys, SnapshotWriter writer) except -1:
    cdef uint32_t key_id, n_free = keys.used - <uint32_t> keys.size
    cdef bint any_null = False
    cdef int i
    writer.put_u32(keys.width)
    writer.put_bytes(keys.codes, keys.width)
    writer.put_u32(keys.used)
    writer.put_u32(n_free)
    key_id = keys.free_id
    while key_id != NO_ID:
        writer.put_u32(key_id)
        key_id = <uint32_t> keys.hashes[key_id]
    for key_id in range(keys.used):
        any_null |= keys.live[key_id] and keys.nulls[key_id] != 0
    writer.put_bool(any_null)
    if any_null:
        for key_id in range(keys.used):
            if keys.live[key_id]:
                writer.put_bytes(&keys.nulls[key_id], 8)
    for i in range(keys.width):
        for key_id in range(keys.used):
            if keys.live[key_id]:
                write_part(keys, key_id, i, writer)
    return 0


cdef int write_part(KeyMap keys, uint32_t key_id, int i, SnapshotWriter writer) except -1:
    cdef CellC* cell = &keys.keys[<Py_ssize_t> key_id * keys.width + i]
    if keys.codes[i] == STRING or keys.codes[i] == OBJECT:
        if not (keys.nulls[key_id] >> i) & 1:
            writer.put_object(<object> cell.o)
    elif keys.codes[i] == LONG or keys.codes[i] == DOUBLE:
        writer.put_bytes(cell, 8)
    else:
        writer.put_bytes(cell, 4)
    return 0


# --- reading

cdef int read_keys(KeyMap keys, SnapshotReader reader) except -1:
    cdef uint32_t used, n_free, n_live
    cdef Py_ssize_t left
    cdef int i
    cdef const uint8_t* null_words = NULL
    cdef list free_ids, columns
    cdef set is_free
    if <int> reader.get_u32() != keys.width or reader.take(keys.width)[:keys.width] != keys.codes[:keys.width]:
        damaged("its keys have other types")
    used = reader.get_u32()
    n_free = reader.get_u32()
    left = reader.size - reader.position
    if n_free > used or n_free > left // 4 or <Py_ssize_t> used - n_free > left:
        damaged(f"{used} keys announced, {left} bytes left")
    free_ids = [reader.get_u32() for _ in range(n_free)]
    is_free = set(free_ids)
    if <uint32_t> len(is_free) != n_free or (free_ids and max(free_ids) >= used):
        damaged("its free slots are not among its slots")
    n_live = used - n_free
    if reader.get_bool():
        null_words = reader.take(8 * <Py_ssize_t> n_live)
    columns = [read_column(reader, keys.codes[i], n_live, null_words, i) for i in range(keys.width)]
    if used:
        place_keys(keys, columns, used, free_ids, is_free, null_words)
    return 0


cdef inline uint64_t null_word(const uint8_t* null_words, Py_ssize_t i) noexcept:
    cdef uint64_t nulls = 0
    if null_words is not NULL:
        memcpy(&nulls, null_words + 8 * i, 8)
    return nulls


cdef list read_column(SnapshotReader reader, int code, uint32_t n, const uint8_t* null_words, int part):
    """One part of every key: objects (None for null), or the bits of numbers."""
    cdef Py_ssize_t i
    cdef CellC cell
    cdef list column = []
    cdef object value
    for i in range(n):
        cell.bits = 0
        if code == STRING or code == OBJECT:
            value = None
            if not (null_word(null_words, i) >> part) & 1:
                value = reader.get_object()
                if code == STRING and type(value) is not str:
                    damaged("a string expected")
            column.append(value)
        else:
            if code == LONG or code == DOUBLE:
                memcpy(&cell, reader.take(8), 8)
            else:
                memcpy(&cell, reader.take(4), 4)
            column.append(cell.bits)
    return column


cdef int place_keys(KeyMap keys, list columns, uint32_t used, list free_ids, set is_free,
                    const uint8_t* null_words) except -1:
    """Give every key its old id, and chain the unused ones in their old order."""
    cdef uint32_t key_id
    cdef uint64_t nulls, mask = 15, beyond = ~(((<uint64_t> 2) << (keys.width - 1)) - 1)
    cdef Py_ssize_t n = 0
    cdef int i
    cdef CellC[MAX_WIDTH] key
    while 2 * <uint64_t> used > mask + 1:
        mask = 2 * mask + 1
    keys.allocate(used)
    memset(keys.live, 0, used)
    keys.rehash(mask)
    for key_id in range(used):
        if key_id in is_free:
            continue
        nulls = null_word(null_words, n)
        if nulls & beyond:
            damaged("a null where a key has no part")
        for i in range(keys.width):
            if keys.codes[i] == STRING or keys.codes[i] == OBJECT:
                key[i].o = <void*> (<list> columns[i])[n]
            else:
                key[i].bits = (<list> columns[i])[n]
        n += 1
        try:
            keys.set_key(key_id, key, nulls)
        except TypeError as error:
            raise ValueError(f"snapshot is damaged: {error}") from error
    keys.used = used
    keys.free_id = NO_ID
    for key_id in reversed(free_ids):
        keys.hashes[key_id] = keys.free_id
        keys.free_id = key_id
    return 0
