"""Keys of a map and their slots in a snapshot."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from siddhi._core.event cimport DOUBLE, LONG, OBJECT, STRING, CellC
from siddhi._core.keymap cimport MAX_WIDTH, NO_SLOT


cdef int damaged(str why) except -1:
    raise ValueError(f"snapshot is damaged: {why}")


# --- writing

cdef int write_keys(KeyMap keys, SnapshotWriter writer) except -1:
    cdef uint32_t slot, n_free = keys.used - <uint32_t> keys.size
    cdef bint any_null = False
    cdef int i
    writer.put_u32(keys.width)
    writer.put_bytes(keys.codes, keys.width)
    writer.put_u32(keys.used)
    writer.put_u32(n_free)
    slot = keys.free_slot
    while slot != NO_SLOT:
        writer.put_u32(slot)
        slot = <uint32_t> keys.hashes[slot]
    for slot in range(keys.used):
        any_null |= keys.live[slot] and keys.nulls[slot] != 0
    writer.put_bool(any_null)
    if any_null:
        for slot in range(keys.used):
            if keys.live[slot]:
                writer.put_bytes(&keys.nulls[slot], 8)
    for i in range(keys.width):
        for slot in range(keys.used):
            if keys.live[slot]:
                write_part(keys, slot, i, writer)
    return 0


cdef int write_part(KeyMap keys, uint32_t slot, int i, SnapshotWriter writer) except -1:
    cdef CellC* cell = &keys.keys[<Py_ssize_t> slot * keys.width + i]
    if keys.codes[i] == STRING or keys.codes[i] == OBJECT:
        if not (keys.nulls[slot] >> i) & 1:
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
    cdef list free_slots, columns
    cdef set is_free
    if <int> reader.get_u32() != keys.width or reader.take(keys.width)[:keys.width] != keys.codes[:keys.width]:
        damaged("its keys have other types")
    used = reader.get_u32()
    n_free = reader.get_u32()
    left = reader.size - reader.position
    if n_free > used or n_free > left // 4 or <Py_ssize_t> used - n_free > left:
        damaged(f"{used} keys announced, {left} bytes left")
    free_slots = [reader.get_u32() for _ in range(n_free)]
    is_free = set(free_slots)
    if <uint32_t> len(is_free) != n_free or (free_slots and max(free_slots) >= used):
        damaged("its free slots are not among its slots")
    n_live = used - n_free
    if reader.get_bool():
        null_words = reader.take(8 * <Py_ssize_t> n_live)
    columns = [read_column(reader, keys.codes[i], n_live, null_words, i) for i in range(keys.width)]
    if used:
        place_keys(keys, columns, used, free_slots, is_free, null_words)
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


cdef int place_keys(KeyMap keys, list columns, uint32_t used, list free_slots, set is_free,
                    const uint8_t* null_words) except -1:
    """Give every key its old slot, and chain the free ones in their old order."""
    cdef uint32_t slot
    cdef uint64_t nulls, mask = 15, beyond = ~(((<uint64_t> 2) << (keys.width - 1)) - 1)
    cdef Py_ssize_t n = 0
    cdef int i
    cdef CellC[MAX_WIDTH] key
    while 2 * <uint64_t> used > mask + 1:
        mask = 2 * mask + 1
    keys.allocate(used)
    memset(keys.live, 0, used)
    keys.rehash(mask)
    for slot in range(used):
        if slot in is_free:
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
            keys.place(slot, key, nulls)
        except TypeError as error:
            raise ValueError(f"snapshot is damaged: {error}") from error
    keys.used = used
    keys.free_slot = NO_SLOT
    for slot in reversed(free_slots):
        keys.hashes[slot] = keys.free_slot
        keys.free_slot = slot
    return 0
