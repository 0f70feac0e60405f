"""The snapshot format: typed values in a byte string, and the seal around a whole snapshot.

A value carries a tag where its type is not fixed by who reads it (objects); everything else is read back by the code
that wrote it, in the same order. Numbers are little-endian. Events are written column by column; see put_events.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memcpy

import struct
import zlib

from siddhi._core.event cimport EXPIRED, event_to_tuple, release
from siddhi._core.instant cimport EARLIEST, INT64_MIN, is_instant
from siddhi._core.snapshot_events cimport read_events, write_events

# Containers inside each other: as deep as this and no deeper, so that bytes from anywhere can't exhaust the C stack.
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


cdef int damaged(str why) except -1:
    raise ValueError(f"snapshot is damaged: {why}")


@cython.final
cdef class SnapshotWriter:
    """Appends values to a growing buffer.

    Args:
        shows: keep the values as they are, for a person to look at, and no bytes.
    """

    def __init__(self, bint shows=False):
        self.items = [] if shows else None

    def __dealloc__(self):
        PyMem_Free(self.data)

    cdef uint8_t* reserve(self, Py_ssize_t n) except NULL:
        """The place of the next n bytes, which the caller writes."""
        cdef Py_ssize_t needed = self.size + n, capacity
        cdef uint8_t* data
        if needed > self.capacity or self.data is NULL:      # NULL would say that it failed
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
        """A Python value made of built-in types; TypeError names the type of anything else."""
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
        """The values put so far, where they are to be shown."""
        return list(self.items)

    cpdef bytes getvalue(self):
        """Everything written so far."""
        return PyBytes_FromStringAndSize(<char*> self.data, self.size)

    def put(self, value):
        """Append a Python value made of None, bool, int, float, str, bytes, tuple, list, dict, set and frozenset."""
        self.put_object(value)

    def begin(self):
        """Begin a part that can be passed over when it is read; returns what :meth:`end` asks for."""
        if self.items is not None:
            raise TypeError("what is to be shown has no parts")
        self.put_i64(0)
        return self.size

    def end(self, Py_ssize_t begun):
        """End the part."""
        cdef int64_t size = self.size - begun
        memcpy(self.data + begun - 8, &size, 8)


cdef object numbers_in(const char* data, Py_ssize_t n):
    """The words of a C struct, as far as they can be told: what would be a huge integer is taken for a double."""
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
    from siddhi._core.user_event import Event       # it needs this module
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
    """Takes values from a byte string, in the order they were written.

    Every read raises ValueError where the bytes are not what was expected.
    """

    def __cinit__(self, bytes source not None):
        self.source = source
        self.data = <const uint8_t*> PyBytes_AS_STRING(source)
        self.size = PyBytes_GET_SIZE(source)

    cdef const uint8_t* take(self, Py_ssize_t n) except NULL:
        """The next n bytes, which live as long as the reader."""
        cdef const uint8_t* place
        if n < 0 or n > self.size - self.position:
            damaged(f"{n} bytes wanted at {self.position}, {self.size - self.position} left")
        place = self.data + self.position
        self.position += n
        return place

    cdef bint get_bool(self) except? -1:
        cdef uint8_t value = self.take(1)[0]
        if value > 1:
            damaged(f"{value} is no truth value")
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
        return time if is_instant(time) else damaged(f"{time} is no time")

    cdef int64_t get_due(self) except? -1:
        cdef int64_t due = self.get_i64()
        return due if due >= EARLIEST or due <= INT64_MIN + 1 else damaged(f"{due} is no time")

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
        """Whether everything has been read."""
        return self.position == self.size

    def get(self):
        """The next value written by :meth:`SnapshotWriter.put`."""
        return self.get_object()

    def part(self):
        """A reader of the next part: of what was written between ``begin`` and ``end``."""
        cdef SnapshotReader part = SnapshotReader.__new__(SnapshotReader, self.source)
        cdef Py_ssize_t n = <Py_ssize_t> self.get_i64()
        self.take(n)
        part.position = self.position - n
        part.size = self.position
        return part


cdef Py_ssize_t get_count(SnapshotReader reader) except -1:
    """A number of items to come; each takes a byte at least, so a lie is found before memory is taken for it."""
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
    cdef const uint8_t* place = reader.take(n)
    try:
        return PyUnicode_DecodeUTF8(<char*> place, n, "surrogatepass")
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
        damaged(f"{tag} is no tag of a value")
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


# --- the seal: what a snapshot is, checked before any of it is read

_MAGIC = b"\x89SIDDHI\n"
_VERSION = 2
_HEADER = struct.Struct("<8sIIQ")       # magic, version, CRC-32 of the payload, bytes of it


class TornSnapshotError(ValueError):
    """The bytes are not those of a snapshot as it was taken."""


def seal(bytes payload not None):
    """A payload as a snapshot: with the format version and a checksum."""
    return _HEADER.pack(_MAGIC, _VERSION, zlib.crc32(payload), len(payload)) + payload


def unseal(bytes data not None):
    """The payload of a snapshot.

    Raises:
        TornSnapshotError: the bytes are no snapshot, or a damaged one.
        ValueError: it is of another format version.
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
