"""The order in which a Java HashMap walks text keys, where it shows in results.

Buckets are walked by index, a bucket in order of insertion; the table doubles when it is three quarters full and never
shrinks. (Buckets of eight and more become trees there, which this does not follow.)
"""

from cpython.unicode cimport PyUnicode_GET_LENGTH, PyUnicode_READ_CHAR
from libc.stdint cimport uint32_t, uint64_t

from siddhi._core.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, STRING, CellC, EventC, Layout
from siddhi._core.java_text cimport text_of_double, text_of_float, text_of_object


cdef str text_of_cell(const EventC* event, Layout layout, int position):
    cdef const CellC* value = <const CellC*> &event.body[layout.words + position]
    cdef int code = layout.codes[position]
    if event.body[position >> 6] & ((<uint64_t> 1) << (position & 63)):
        return "null"
    if code == STRING:
        return <str> value.o
    if code == INT:
        return str(value.i)
    if code == LONG:
        return str(value.l)
    if code == FLOAT:
        return text_of_float(value.f)
    if code == DOUBLE:
        return text_of_double(value.d)
    if code == BOOL:
        return "true" if value.i else "false"
    return text_of_object(<object> value.o)


cdef uint32_t hash_of_key(const EventC* event, Layout layout, tuple positions) except? 0xffffffff:
    """The spread hash of the texts of some cells, one behind the other."""
    cdef uint32_t hash = 0, unit
    cdef Py_ssize_t i
    cdef str text
    for position in positions:
        text = text_of_cell(event, layout, position)
        for i in range(PyUnicode_GET_LENGTH(text)):
            unit = PyUnicode_READ_CHAR(text, i)
            if unit > 0xffff:
                hash = 31 * hash + (0xd7c0 + (unit >> 10))
                unit = 0xdc00 + (unit & 0x3ff)
            hash = 31 * hash + unit
    return hash ^ (hash >> 16)


cdef uint32_t table_size(Py_ssize_t most) noexcept:
    """Buckets of a table that held this many keys at the most."""
    cdef uint32_t size = 16
    while most > <Py_ssize_t> (size - size // 4):
        size *= 2
    return size
