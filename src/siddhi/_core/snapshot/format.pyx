"""The snapshot format: typed values in a byte string, and the seal around a whole snapshot.

An object carries a tag for its type. Other values have no tag: the reader expects them in the order in which they were
written. Numbers are little-endian. Events are written column by column; see put_events.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset

import struct
import zlib

from siddhi._core.record.event cimport (
    BOOL, EXPIRED, FLOAT, INT, OBJECT, RESET, STRING, acquire, cell_from_python, event_to_tuple, release,
)
from siddhi._core.record.instant cimport EARLIEST, INT64_MIN, check_instant, is_instant, refuse_instant

# Limit of nested containers, so that no input can exhaust the C stack.
cdef enum:
    MAX_DEPTH = 200

cdef enum Tag:
    TAG_NONE = 0
    TAG_FALSE = 1
    TAG_TRUE = 2
    TAG_INT = 3          # fits 64 bits
    TAG_BIG_INT = 4      # its two's complement bytes, little-endian
    TAG_FLOAT = 5
    TAG_STR = 6          # utf-8
    TAG_BYTES = 7
    TAG_TUPLE = 8
    TAG_LIST = 9
    TAG_DICT = 10        # key, value, key, value, ...
    TAG_SET = 11
    TAG_FROZENSET = 12


cdef inline bint is_due(int64_t due) noexcept:
    return due >= EARLIEST or due <= INT64_MIN + 1


cdef int damaged(str why) except -1:
    raise ValueError(f"snapshot is damaged: {why}")


@cython.final
cdef class SnapshotWriter:
    """Appends values to a growing buffer.

    Args:
        shows: keep the values themselves, for a person to read, instead of bytes.
    """

    def __init__(self, bint shows=False):
        self.items = [] if shows else None

    def __dealloc__(self):
        PyMem_Free(self.data)

    cdef uint8_t* reserve(self, Py_ssize_t n) except NULL:
        """Reserve n bytes, which the caller writes."""
        cdef Py_ssize_t needed = self.size + n, capacity
        cdef uint8_t* data
        if needed > self.capacity or self.data is NULL:      # NULL would mean failure
            capacity = max(needed, 2 * self.capacity, 256)
            data = <uint8_t*> PyMem_Realloc(self.data, capacity)
            if data is NULL:
                raise MemoryError
            self.data = data
            self.capacity = capacity
        data = self.data + self.size
        self.size = needed
        return data

    cdef int put_bool(self, bint value) except -1:
        if self.items is not None:
            return self.show(value)
        self.reserve(1)[0] = 1 if value else 0
        return 0

    cdef int put_u32(self, uint32_t value) except -1:
        if self.items is not None:
            return self.show(value)
        memcpy(self.reserve(4), &value, 4)
        return 0

    cdef int put_i64(self, int64_t value) except -1:
        if self.items is not None:
            return self.show(value)
        memcpy(self.reserve(8), &value, 8)
        return 0

    cdef int put_time(self, int64_t time) except -1:
        check_instant(time, "time")
        return self.put_i64(time)

    cdef int put_due(self, int64_t due) except -1:
        if not is_due(due):
            refuse_instant(due, "time")
        return self.put_i64(due)

    cdef int put_f64(self, double value) except -1:
        if self.items is not None:
            return self.show(value)
        memcpy(self.reserve(8), &value, 8)
        return 0

    cdef int put_bytes(self, const void* data, Py_ssize_t n) except -1:
        if self.items is not None:
            return self.show(numbers_in(<const char*> data, n))
        memcpy(self.reserve(n), data, n)
        return 0

    cdef int put_object(self, object value) except -1:
        """Append a Python value of built-in types; TypeError names any other type."""
        if self.items is not None:
            return self.show(value)
        return put_nested(self, value, 0)

    cdef int put_event(self, const EventC* event, Layout layout) except -1:
        if self.items is not None:
            return self.show(event_to_show(event, layout))
        return write_events(self, &event, 1, layout)

    cdef int put_events(self, EventC** events, Py_ssize_t n, Layout layout) except -1:
        cdef Py_ssize_t i
        if self.items is not None:
            return self.show([event_to_show(events[i], layout) for i in range(n)])
        return write_events(self, <const EventC**> events, n, layout)

    cdef int show(self, value) except -1:
        self.items.append(value)
        return 0

    @property
    def shown(self):
        """Return the values written so far; for a writer that shows a state."""
        return list(self.items)

    cpdef bytes getvalue(self):
        """Return everything written so far."""
        return PyBytes_FromStringAndSize(<char*> self.data, self.size)

    def put(self, value):
        """Append a Python value made of None, bool, int, float, str, bytes, tuple, list, dict, set and frozenset."""
        self.put_object(value)

    def begin(self):
        """Begin a part that a reader can skip; return the argument of :meth:`end`."""
        if self.items is not None:
            raise TypeError("a writer that shows a state can't write parts")
        self.put_i64(0)
        return self.size

    def end(self, Py_ssize_t begun):
        """End the part."""
        cdef int64_t size = self.size - begun
        memcpy(self.data + begun - 8, &size, 8)


cdef object numbers_in(const char* data, Py_ssize_t n):
    """Return the words of a C struct; a word that would be a huge integer is shown as a double."""
    cdef Py_ssize_t i
    cdef int64_t whole
    cdef double real
    cdef list found = []
    if n % 8:
        return PyBytes_FromStringAndSize(data, n)
    for i in range(0, n, 8):
        memcpy(&whole, data + i, 8)
        memcpy(&real, data + i, 8)
        found.append(whole if -(1 << 48) < whole < (1 << 48) else real)
    return tuple(found)


cdef object event_to_show(const EventC* event, Layout layout):
    from siddhi._core.record.user_event import Event       # that module imports this one
    return Event(event.timestamp, event_to_tuple(event, layout), event.type == EXPIRED)


cdef int put_count(SnapshotWriter writer, Py_ssize_t n) except -1:
    if n > <Py_ssize_t> 0xffffffff:
        raise OverflowError(f"a value of {n} parts is too long for a snapshot")
    return writer.put_u32(<uint32_t> n)


cdef int put_raw(SnapshotWriter writer, Tag tag, bytes data) except -1:
    writer.reserve(1)[0] = tag
    put_count(writer, PyBytes_GET_SIZE(data))
    return writer.put_bytes(PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


cdef int put_items(SnapshotWriter writer, Tag tag, object items, Py_ssize_t n, int depth) except -1:
    if depth == MAX_DEPTH:
        raise ValueError(f"a value nested deeper than {MAX_DEPTH} can't be put into a snapshot")
    writer.reserve(1)[0] = tag
    put_count(writer, n)
    for item in items:
        put_nested(writer, item, depth + 1)
    return 0


cdef int put_nested(SnapshotWriter writer, object value, int depth) except -1:
    cdef object kind = type(value)
    if value is None:
        writer.reserve(1)[0] = TAG_NONE
    elif value is True:
        writer.reserve(1)[0] = TAG_TRUE
    elif value is False:
        writer.reserve(1)[0] = TAG_FALSE
    elif kind is str:
        put_raw(writer, TAG_STR, (<str> value).encode("utf-8", "surrogatepass"))
    elif kind is int:
        if -0x8000000000000000 <= value <= 0x7fffffffffffffff:
            writer.reserve(1)[0] = TAG_INT
            writer.put_i64(value)
        else:
            put_raw(writer, TAG_BIG_INT, value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True))
    elif kind is float:
        writer.reserve(1)[0] = TAG_FLOAT
        writer.put_f64(value)
    elif kind is bytes:
        put_raw(writer, TAG_BYTES, value)
    elif kind is tuple:
        put_items(writer, TAG_TUPLE, value, len(value), depth)
    elif kind is list:
        put_items(writer, TAG_LIST, value, len(value), depth)
    elif kind is dict:
        put_items(writer, TAG_DICT, [part for item in value.items() for part in item], 2 * len(value), depth)
    elif kind is set:
        put_items(writer, TAG_SET, value, len(value), depth)
    elif kind is frozenset:
        put_items(writer, TAG_FROZENSET, value, len(value), depth)
    else:
        raise TypeError(f"a snapshot can't hold a {kind.__module__}.{kind.__qualname__}: it takes None, bool, int, "
                        "float, str, bytes, tuple, list, dict, set and frozenset")
    return 0


@cython.final
cdef class SnapshotReader:
    """Reads values from a byte string, in the order they were written.

    Every read raises ValueError where the bytes are not what was expected.
    """

    def __cinit__(self, bytes source not None):
        self.source = source
        self.data = <const uint8_t*> PyBytes_AS_STRING(source)
        self.size = PyBytes_GET_SIZE(source)

    cdef const uint8_t* take(self, Py_ssize_t n) except NULL:
        """Return the next n bytes, valid as long as the reader."""
        cdef const uint8_t* cursor
        if n < 0 or n > self.size - self.position:
            damaged(f"{n} bytes wanted at {self.position}, {self.size - self.position} left")
        cursor = self.data + self.position
        self.position += n
        return cursor

    cdef bint get_bool(self) except? -1:
        cdef uint8_t value = self.take(1)[0]
        if value > 1:
            damaged(f"{value} is not a truth value")
        return value

    cdef uint32_t get_u32(self) except? 0xffffffff:
        cdef uint32_t value
        memcpy(&value, self.take(4), 4)
        return value

    cdef int64_t get_i64(self) except? -1:
        cdef int64_t value
        memcpy(&value, self.take(8), 8)
        return value

    cdef int64_t get_time(self) except? -1:
        cdef int64_t time = self.get_i64()
        return time if is_instant(time) else damaged(f"{time} is not a time")

    cdef int64_t get_due(self) except? -1:
        cdef int64_t due = self.get_i64()
        return due if is_due(due) else damaged(f"{due} is not a time")

    cdef double get_f64(self) except? -1.0:
        cdef double value
        memcpy(&value, self.take(8), 8)
        return value

    cdef object get_object(self):
        return get_nested(self, 0)

    cdef EventC* get_event(self, EventPool pool) except NULL:
        cdef EventC** events = NULL
        cdef EventC* event
        cdef Py_ssize_t i, n = read_events(self, pool, &events)
        if n == 1:
            event = events[0]
            PyMem_Free(events)
            return event
        for i in range(n):
            release(pool, events[i])
        PyMem_Free(events)
        damaged(f"one event expected, {n} found")

    cdef Py_ssize_t get_events(self, EventPool pool, EventC*** events) except -1:
        return read_events(self, pool, events)

    cpdef bint at_end(self):
        """Return whether everything has been read."""
        return self.position == self.size

    def get(self):
        """Read the next value written by :meth:`SnapshotWriter.put`."""
        return self.get_object()

    def part(self):
        """Return a reader of the next part, written between ``begin`` and ``end``."""
        cdef SnapshotReader part = SnapshotReader.__new__(SnapshotReader, self.source)
        cdef Py_ssize_t n = <Py_ssize_t> self.get_i64()
        self.take(n)
        part.position = self.position - n
        part.size = self.position
        return part


cdef Py_ssize_t get_count(SnapshotReader reader) except -1:
    """Read a number of items. Each takes at least a byte, so that a wrong number is rejected before memory is allocated."""
    cdef Py_ssize_t n = reader.get_u32()
    if n > reader.size - reader.position:
        damaged(f"{n} items announced at {reader.position}, {reader.size - reader.position} bytes left")
    return n


cdef bytes get_raw(SnapshotReader reader):
    cdef Py_ssize_t n = get_count(reader)
    return PyBytes_FromStringAndSize(<const char*> reader.take(n), n)


cdef list get_items(SnapshotReader reader, int depth):
    cdef Py_ssize_t n = get_count(reader)
    if depth == MAX_DEPTH:
        damaged(f"values nested deeper than {MAX_DEPTH}")
    return [get_nested(reader, depth + 1) for _ in range(n)]


cdef object get_text(SnapshotReader reader, Py_ssize_t n):
    cdef const uint8_t* cursor = reader.take(n)
    try:
        return PyUnicode_DecodeUTF8(<char*> cursor, n, "surrogatepass")
    except UnicodeDecodeError as error:
        raise ValueError(f"snapshot is damaged: {error}") from error


cdef object get_nested(SnapshotReader reader, int depth):
    cdef uint8_t tag = reader.take(1)[0]
    cdef list items
    if tag == TAG_NONE:
        return None
    if tag == TAG_FALSE or tag == TAG_TRUE:
        return tag == TAG_TRUE
    if tag == TAG_INT:
        return reader.get_i64()
    if tag == TAG_BIG_INT:
        return int.from_bytes(get_raw(reader), "little", signed=True)
    if tag == TAG_FLOAT:
        return reader.get_f64()
    if tag == TAG_STR:
        return get_text(reader, get_count(reader))
    if tag == TAG_BYTES:
        return get_raw(reader)
    if tag > TAG_FROZENSET:
        damaged(f"{tag} is not a tag of a value")
    items = get_items(reader, depth)
    if tag == TAG_LIST:
        return items
    if tag == TAG_TUPLE:
        return tuple(items)
    try:
        if tag == TAG_SET:
            return set(items)
        if tag == TAG_FROZENSET:
            return frozenset(items)
        if len(items) % 2:
            damaged("a key without its value")
        return dict(zip(items[::2], items[1::2], strict=True))
    except TypeError as error:
        raise ValueError(f"snapshot is damaged: {error}") from error


# --- the seal: magic, version and checksum, checked before the payload is read

_MAGIC = b"\x89SIDDHI\n"
_VERSION = 2
_HEADER = struct.Struct("<8sIIQ")       # magic, version, CRC-32 of the payload, bytes of it


class TornSnapshotError(ValueError):
    """The bytes are not a complete, unchanged snapshot."""


def seal(bytes payload not None):
    """Wrap a payload as a snapshot, with the format version and a checksum."""
    return _HEADER.pack(_MAGIC, _VERSION, zlib.crc32(payload), len(payload)) + payload


def unseal(bytes data not None):
    """Return the payload of a snapshot.

    Raises:
        TornSnapshotError: the bytes are not a snapshot, or a damaged one.
        ValueError: the snapshot has another format version.
    """
    if data[:len(_MAGIC)] != _MAGIC[:len(data)] or not data:
        raise TornSnapshotError("this is not a snapshot: it does not begin as one")
    if len(data) < _HEADER.size:
        raise TornSnapshotError(f"snapshot is damaged: it ends after {len(data)} bytes")
    _, version, checksum, n_payload = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise ValueError(f"the snapshot has format version {version}, this engine reads version {_VERSION}")
    if len(data) != _HEADER.size + n_payload:
        raise TornSnapshotError(f"snapshot is damaged: it should have {_HEADER.size + n_payload} bytes and has {len(data)}")
    payload = data[_HEADER.size:]
    if zlib.crc32(payload) != checksum:
        raise TornSnapshotError("snapshot is damaged: its checksum does not fit its content")
    return payload


# --- Events as columns of a snapshot.

cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(PyObject* text)
    Py_ssize_t PyUnicode_GET_LENGTH(PyObject* text)
    void* PyUnicode_DATA(PyObject* text)
    Py_ssize_t PyObject_Hash(PyObject* text) except -1
    int PyUnicode_Compare(PyObject* a, PyObject* b) except? -1
    object PyUnicode_AsEncodedString(PyObject* text, const char* encoding, const char* errors)

cdef enum:
    WAS_REFUSED = 64        # flag of the type: a limit has refused the event
    MIXED = 255             # the events differ in type: a type for each follows
    PLAIN = 0               # string column: every string is written
    DISTINCT = 1            # string column: the distinct strings, then an index for each event
    MAX_DISTINCT = 65535
    WORTH_DISTINCT = 8      # minimal number of strings for which repetitions are searched


cdef inline bint is_null(const EventC* event, int position) noexcept:
    return (event.body[position >> 6] >> (position & 63)) & 1


# --- writing

cdef int write_events(SnapshotWriter writer, const EventC** events, Py_ssize_t n, Layout layout) except -1:
    cdef Py_ssize_t i
    cdef int position
    cdef uint8_t* out
    if n > <Py_ssize_t> 0xffffffff:
        raise OverflowError(f"{n} events are too many for one part of a snapshot")
    writer.put_u32(<uint32_t> n)
    writer.put_u32(layout.width)
    writer.put_bytes(layout.codes, layout.width)
    if n == 0:
        return 0
    write_types(writer, events, n)
    out = writer.reserve(8 * n)
    for i in range(n):
        check_instant(events[i].timestamp, "timestamp")
        memcpy(out + 8 * i, &events[i].timestamp, 8)
    for position in range(layout.width):
        write_nulls(writer, events, n, position)
        if layout.codes[position] == STRING:
            write_strings(writer, events, n, layout.words + position, position)
        elif layout.codes[position] == OBJECT:
            write_objects(writer, events, n, layout, position)
        else:
            write_numbers(writer, events, n, layout.words + position, position, layout.codes[position])
    return 0


cdef int write_objects(
        SnapshotWriter writer, const EventC** events, Py_ssize_t n, Layout layout, int position) except -1:
    cdef Py_ssize_t i
    try:
        for i in range(n):
            if not is_null(events[i], position):
                writer.put_object(<object> <PyObject*> events[i].body[layout.words + position])
    except TypeError as error:
        raise TypeError(f"attribute '{layout.names[position]}': {error}") from error
    return 0


cdef inline uint8_t type_of(const EventC* event) noexcept:
    return event.type | WAS_REFUSED if event.group == REFUSED else event.type


cdef int write_types(SnapshotWriter writer, const EventC** events, Py_ssize_t n) except -1:
    cdef Py_ssize_t i, n_same = 1
    cdef uint8_t* out
    while n_same < n and type_of(events[n_same]) == type_of(events[0]):
        n_same += 1
    writer.reserve(1)[0] = type_of(events[0]) if n_same == n else MIXED
    if n_same < n:
        out = writer.reserve(n)
        for i in range(n):
            out[i] = type_of(events[i])
    return 0


cdef int write_nulls(SnapshotWriter writer, const EventC** events, Py_ssize_t n, int position) except -1:
    cdef Py_ssize_t i
    cdef bint found = False
    cdef uint8_t* out
    for i in range(n):
        if is_null(events[i], position):
            found = True
            break
    writer.put_bool(found)
    if found:
        out = writer.reserve((n + 7) // 8)
        memset(out, 0, (n + 7) // 8)
        for i in range(n):
            out[i >> 3] |= <uint8_t> (is_null(events[i], position) << (i & 7))
    return 0


cdef int write_numbers(SnapshotWriter writer, const EventC** events, Py_ssize_t n, int cell, int position,
                       int code) except -1:
    # Nulls are written as zeros: equal states give equal snapshots.
    cdef Py_ssize_t i
    cdef uint8_t* out
    cdef uint64_t wide
    cdef uint32_t narrow
    if code == BOOL:
        out = writer.reserve((n + 7) // 8)
        memset(out, 0, (n + 7) // 8)
        for i in range(n):
            if not is_null(events[i], position) and (<const int32_t*> &events[i].body[cell])[0]:
                out[i >> 3] |= <uint8_t> (1 << (i & 7))
    elif code == INT or code == FLOAT:
        out = writer.reserve(4 * n)
        for i in range(n):
            narrow = 0 if is_null(events[i], position) else (<const uint32_t*> &events[i].body[cell])[0]
            memcpy(out + 4 * i, &narrow, 4)
    else:
        out = writer.reserve(8 * n)
        for i in range(n):
            wide = 0 if is_null(events[i], position) else events[i].body[cell]
            memcpy(out + 8 * i, &wide, 8)
    return 0


cdef int write_strings(SnapshotWriter writer, const EventC** events, Py_ssize_t n, int cell, int position) except -1:
    cdef Py_ssize_t i, n_distinct = -1
    cdef uint8_t* out
    cdef PyObject** texts = <PyObject**> PyMem_Malloc(n * sizeof(PyObject*))
    cdef uint16_t* indexes = <uint16_t*> PyMem_Malloc(n * sizeof(uint16_t))
    try:
        if texts is NULL or indexes is NULL:
            raise MemoryError
        for i in range(n):
            texts[i] = NULL if is_null(events[i], position) else <PyObject*> events[i].body[cell]
        if n >= WORTH_DISTINCT:
            n_distinct = find_distinct(texts, n, indexes)
        if n_distinct < 0:
            writer.reserve(1)[0] = PLAIN
            write_texts(writer, texts, n)
        else:
            writer.reserve(1)[0] = DISTINCT
            writer.put_u32(<uint32_t> n_distinct)
            write_texts(writer, texts, n_distinct)
            if n_distinct > 256:
                writer.put_bytes(indexes, 2 * n)
            else:
                out = writer.reserve(n)
                for i in range(n):
                    out[i] = <uint8_t> indexes[i]
    finally:
        PyMem_Free(texts)
        PyMem_Free(indexes)
    return 0


cdef Py_ssize_t find_distinct(PyObject** texts, Py_ssize_t n, uint16_t* indexes) except -2:
    """Number the distinct strings and move them to the front of `texts`; -1: not worth it, nothing moved.

    They are numbered in sort order. So the numbers depend on the set of strings only, not on the order of the events, and
    increments stay small. After reading, equal strings share one object. A null gets index 0.
    """
    cdef Py_ssize_t i, limit = min(n // 2, <Py_ssize_t> MAX_DISTINCT), n_distinct = 0
    cdef uint64_t mask = 15, at
    cdef list order, found = []
    while <Py_ssize_t> mask < 2 * limit:
        mask = 2 * mask + 1
    cdef PyObject** distinct = <PyObject**> PyMem_Malloc((limit + 1) * sizeof(PyObject*))
    cdef uint16_t* numbers = <uint16_t*> PyMem_Calloc(limit + 1, sizeof(uint16_t))
    cdef uint32_t* table = <uint32_t*> PyMem_Calloc(mask + 1, sizeof(uint32_t))     # index + 1; 0: free
    try:
        if distinct is NULL or numbers is NULL or table is NULL:
            raise MemoryError
        for i in range(n):
            if texts[i] is NULL:
                indexes[i] = MAX_DISTINCT
                continue
            at = (<uint64_t> PyObject_Hash(texts[i]) * <uint64_t> 0x9E3779B97F4A7C15 >> 32) & mask
            while table[at] != 0 and not same_text(distinct[table[at] - 1], texts[i]):
                at = (at + 1) & mask
            if table[at] == 0:
                if n_distinct == limit:
                    return -1
                distinct[n_distinct] = texts[i]
                found.append(<object> texts[i])
                n_distinct += 1
                table[at] = <uint32_t> n_distinct
            indexes[i] = <uint16_t> (table[at] - 1)
        order = sorted(range(n_distinct), key=found.__getitem__)
        for i in range(n_distinct):
            texts[i] = distinct[<Py_ssize_t> order[i]]
            numbers[<Py_ssize_t> order[i]] = <uint16_t> i
        for i in range(n):
            indexes[i] = 0 if indexes[i] == MAX_DISTINCT else numbers[indexes[i]]
        return n_distinct
    finally:
        PyMem_Free(distinct)
        PyMem_Free(numbers)
        PyMem_Free(table)


cdef inline bint same_text(PyObject* a, PyObject* b) except -1:
    return a == b or (PyObject_Hash(a) == PyObject_Hash(b) and PyUnicode_Compare(a, b) == 0)


cdef int write_texts(SnapshotWriter writer, PyObject** texts, Py_ssize_t n) except -1:
    """Write the lengths in bytes, then the bytes; NULL becomes an empty string."""
    cdef Py_ssize_t i, next_encoded = 0, longest = 0, total = 0
    cdef uint8_t width
    cdef uint8_t* out
    cdef uint32_t length
    cdef bytes one
    cdef list encoded = []                  # the strings that are not ASCII, in order
    cdef uint32_t* lengths = <uint32_t*> PyMem_Malloc(max(1, n) * sizeof(uint32_t))
    try:
        if lengths is NULL:
            raise MemoryError
        for i in range(n):
            if texts[i] is NULL:
                lengths[i] = 0
                continue
            if PyUnicode_IS_ASCII(texts[i]):
                longest = max(longest, PyUnicode_GET_LENGTH(texts[i]))
                lengths[i] = <uint32_t> PyUnicode_GET_LENGTH(texts[i])
            else:
                one = PyUnicode_AsEncodedString(texts[i], "utf-8", "surrogatepass")
                encoded.append(one)
                longest = max(longest, PyBytes_GET_SIZE(one))
                lengths[i] = <uint32_t> PyBytes_GET_SIZE(one)
            total += lengths[i]
        if longest > <Py_ssize_t> 0xffffffff:
            raise OverflowError(f"a string of {longest} bytes is too long for a snapshot")
        width = 1 if longest < 0x100 else 2 if longest < 0x10000 else 4
        writer.reserve(1)[0] = width
        out = writer.reserve(n * width)
        for i in range(n):
            memcpy(out + i * width, &lengths[i], width)
        out = writer.reserve(total)
        for i in range(n):
            length = lengths[i]
            if length == 0:
                continue
            if PyUnicode_IS_ASCII(texts[i]):
                memcpy(out, PyUnicode_DATA(texts[i]), length)
            else:
                one = encoded[next_encoded]
                next_encoded += 1
                memcpy(out, PyBytes_AS_STRING(one), length)
            out += length
    finally:
        PyMem_Free(lengths)
    return 0


# --- reading

cdef Py_ssize_t read_events(SnapshotReader reader, EventPool pool, EventC*** events) except -1:
    cdef Py_ssize_t i, n, n_acquired = 0
    cdef int position
    cdef const uint8_t* cursor
    cdef Layout layout = pool.layout
    cdef EventC** found
    events[0] = NULL
    n = reader.get_u32()
    if <int> reader.get_u32() != layout.width:
        damaged("its events have another number of attributes")
    cursor = reader.take(layout.width)
    for position in range(layout.width):
        if cursor[position] != layout.codes[position]:
            damaged(f"its events have another type of attribute '{layout.names[position]}'")
    if n > (reader.size - reader.position) // 8:
        damaged(f"{n} events announced at {reader.position}, {reader.size - reader.position} bytes left")
    found = <EventC**> PyMem_Malloc(max(1, n) * sizeof(EventC*))
    if found is NULL:
        raise MemoryError
    try:
        for i in range(n):
            found[i] = acquire(pool)
            n_acquired += 1
            memset(found[i].body, 0, 8 * layout.words)
        if n > 0:
            read_columns(reader, found, n, layout)
    except BaseException:
        for i in range(n_acquired):
            release(pool, found[i])
        PyMem_Free(found)
        raise
    events[0] = found
    return n


cdef int read_columns(SnapshotReader reader, EventC** events, Py_ssize_t n, Layout layout) except -1:
    cdef Py_ssize_t i
    cdef int position, cell
    cdef object value
    cdef uint8_t type = reader.take(1)[0]
    cdef const uint8_t* cursor = reader.take(n) if type == MIXED else NULL
    cdef uint8_t one
    for i in range(n):
        one = type if cursor is NULL else cursor[i]
        if one & WAS_REFUSED:
            events[i].group = REFUSED
        events[i].type = one & ~WAS_REFUSED
        if events[i].type > RESET:
            damaged(f"{events[i].type} is not a type of an event")
    cursor = reader.take(8 * n)
    for i in range(n):
        memcpy(&events[i].timestamp, cursor + 8 * i, 8)
        if not is_instant(events[i].timestamp):
            damaged(f"{events[i].timestamp} is not a time of an event")
    for position in range(layout.width):
        cell = layout.words + position
        if reader.get_bool():
            cursor = reader.take((n + 7) // 8)
            for i in range(n):
                events[i].body[position >> 6] |= <uint64_t> ((cursor[i >> 3] >> (i & 7)) & 1) << (position & 63)
        if layout.codes[position] == STRING:
            read_strings(reader, events, n, cell, position)
        elif layout.codes[position] == OBJECT:
            for i in range(n):
                if not is_null(events[i], position):
                    value = reader.get_object()
                    Py_INCREF(value)
                    events[i].body[cell] = <uint64_t> <PyObject*> value
        else:
            read_numbers(reader, events, n, cell, layout.codes[position])
    return 0


cdef int read_numbers(SnapshotReader reader, EventC** events, Py_ssize_t n, int cell, int code) except -1:
    cdef Py_ssize_t i
    cdef const uint8_t* cursor
    if code == BOOL:
        cursor = reader.take((n + 7) // 8)
        for i in range(n):
            (<int32_t*> &events[i].body[cell])[0] = (cursor[i >> 3] >> (i & 7)) & 1
    elif code == INT or code == FLOAT:
        cursor = reader.take(4 * n)
        for i in range(n):
            memcpy(&events[i].body[cell], cursor + 4 * i, 4)
    else:
        cursor = reader.take(8 * n)
        for i in range(n):
            memcpy(&events[i].body[cell], cursor + 8 * i, 8)
    return 0


cdef int read_strings(SnapshotReader reader, EventC** events, Py_ssize_t n, int cell, int position) except -1:
    cdef uint8_t mode = reader.take(1)[0]
    cdef Py_ssize_t i, index, n_texts = n
    cdef const uint8_t* cursor
    cdef list texts
    cdef object text
    if mode > DISTINCT:
        damaged(f"{mode} is not a form of a column of strings")
    if mode == DISTINCT:
        n_texts = reader.get_u32()
        if n_texts > MAX_DISTINCT:
            damaged(f"{n_texts} distinct strings")
    texts = read_texts(reader, n_texts)
    cursor = reader.take(n if n_texts <= 256 else 2 * n) if mode == DISTINCT else NULL
    for i in range(n):
        if is_null(events[i], position):
            continue
        if mode == PLAIN:
            index = i
        elif n_texts <= 256:
            index = cursor[i]
        else:
            index = cursor[2 * i] | <Py_ssize_t> cursor[2 * i + 1] << 8
        if index >= n_texts:
            damaged(f"string {index} of {n_texts}")
        text = texts[index]
        Py_INCREF(text)
        events[i].body[cell] = <uint64_t> <PyObject*> text
    return 0


cdef list read_texts(SnapshotReader reader, Py_ssize_t n):
    cdef Py_ssize_t i
    cdef uint8_t width = reader.take(1)[0]
    cdef uint32_t length
    cdef const uint8_t* lengths
    cdef const uint8_t* cursor
    cdef list texts = []
    if width != 1 and width != 2 and width != 4:
        damaged(f"{width} is not a width of a length")
    lengths = reader.take(n * width)
    for i in range(n):
        length = 0
        memcpy(&length, lengths + i * width, width)
        cursor = reader.take(length)
        try:
            texts.append(PyUnicode_DecodeUTF8(<char*> cursor, length, "surrogatepass"))
        except UnicodeDecodeError as error:
            raise ValueError(f"snapshot is damaged: {error}") from error
    return texts


# --- for tests and for debugging

def encode(Layout layout not None, events not None):
    """Return the bytes of a snapshot of events, each given as ``(type, timestamp, row)``."""
    cdef EventPool pool = EventPool(layout)
    cdef SnapshotWriter writer = SnapshotWriter()
    cdef Py_ssize_t i, n = 0
    cdef int position
    cdef EventC** records = <EventC**> PyMem_Malloc(max(1, len(events)) * sizeof(EventC*))
    if records is NULL:
        raise MemoryError
    try:
        for type, timestamp, row in events:
            records[n] = acquire(pool)
            n += 1
            memset(records[n - 1].body, 0, 8 * layout.words)
            records[n - 1].type = type
            records[n - 1].timestamp = timestamp
            for position in range(layout.width):
                cell_from_python(records[n - 1], layout, position, row[position])
        writer.put_events(records, n, layout)
    finally:
        for i in range(n):
            release(pool, records[i])
        PyMem_Free(records)
    return writer.getvalue()


def decode(Layout layout not None, bytes data not None):
    """Return the events that :func:`encode` wrote. All records must be released at the end, also after an error."""
    cdef EventPool pool = EventPool(layout)
    cdef SnapshotReader reader = SnapshotReader(data)
    cdef EventC** records = NULL
    cdef Py_ssize_t i, n
    try:
        n = reader.get_events(pool, &records)
        try:
            return [(records[i].type, records[i].timestamp, event_to_tuple(records[i], layout)) for i in range(n)]
        finally:
            for i in range(n):
                release(pool, records[i])
            PyMem_Free(records)
    finally:
        if pool.alive:
            raise AssertionError(f"{pool.alive} records leaked")
