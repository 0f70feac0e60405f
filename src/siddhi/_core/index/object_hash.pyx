"""Hashes of objects: for keys, and for the order of objects in Siddhi."""

from cpython.object cimport PyObject_Hash
from cpython.unicode cimport PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    DEEPEST = 32                   # deeper levels get equal hashes; the values are compared anyway


cdef Py_hash_t object_hash(object value) except? -1:
    """Hash equal lists, dicts, sets and bytearrays equally; hash other unhashable values by identity.

    Without a hash of its key an event would fail when it arrives and, if a window buffered it nevertheless, fail
    another event when it expires.
    """
    try:
        return PyObject_Hash(value)
    except Exception:
        return content_hash(value, 0)


cdef Py_hash_t content_hash(object value, int depth) except? -1:
    cdef uint64_t mixed
    if depth == DEEPEST:
        return 0
    if isinstance(value, (list, tuple)):
        mixed = 0x345678 if isinstance(value, list) else 0x654321
        for item in value:
            mixed = mixed * 1000003 ^ <uint64_t> part_hash(item, depth)
    elif isinstance(value, dict):
        mixed = 0x1234567
        for key, item in value.items():
            # Independent of order.
            mixed += (<uint64_t> part_hash(key, depth) * 1000003 ^ <uint64_t> part_hash(item, depth)) * 31 + 1
    elif isinstance(value, set):
        return PyObject_Hash(frozenset(value))
    elif isinstance(value, bytearray):
        return PyObject_Hash(bytes(value))
    else:
        mixed = <uint64_t> <size_t> <void*> value >> 4
    return <Py_hash_t> mixed if <Py_hash_t> mixed != -1 else -2


cdef Py_hash_t part_hash(object value, int depth) except? -1:
    try:
        return PyObject_Hash(value)
    except Exception:
        return content_hash(value, depth + 1)


cdef int32_t java_hash(object value) except? -1:
    """Hash None, bool, numbers, texts and containers of these as Java does; fold Python's hash of anything else."""
    return java_part(value, 0)


cdef int32_t java_part(object value, int depth) except? -1:
    cdef uint32_t mixed = 0, unit
    cdef Py_ssize_t i
    cdef str text
    cdef double real
    cdef uint64_t bits
    if value is None or depth == DEEPEST:
        return 0
    if isinstance(value, bool):
        return 1231 if value else 1237
    if isinstance(value, int):
        if -0x80000000 <= value <= 0x7fffffff:
            return <int32_t> value
        return folded(<uint64_t> (value & 0xffffffffffffffff))
    if isinstance(value, float):
        real = value
        if real != real:
            return 0x7ff80000
        memcpy(&bits, &real, 8)
        return folded(bits)
    if isinstance(value, str):
        text = str(value)
        for i in range(PyUnicode_GET_LENGTH(text)):
            unit = PyUnicode_READ_CHAR(text, i)
            if unit > 0xffff:
                mixed = 31 * mixed + (0xd7c0 + (unit >> 10))
                unit = 0xdc00 + (unit & 0x3ff)
            mixed = 31 * mixed + unit
        return <int32_t> mixed
    if isinstance(value, (list, tuple)):
        mixed = 1
        for item in value:
            mixed = 31 * mixed + <uint32_t> java_part(item, depth + 1)
        return <int32_t> mixed
    if isinstance(value, (set, frozenset)):
        for item in value:
            mixed += <uint32_t> java_part(item, depth + 1)
        return <int32_t> mixed
    if isinstance(value, dict):
        for key, item in value.items():
            mixed += <uint32_t> java_part(key, depth + 1) ^ <uint32_t> java_part(item, depth + 1)
        return <int32_t> mixed
    return folded(<uint64_t> object_hash(value))


cdef int32_t folded(uint64_t bits) noexcept:
    return <int32_t> <uint32_t> (bits ^ (bits >> 32))
