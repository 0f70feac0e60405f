"""Pieces of columns."""

cimport cython
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM

from siddhi._core.columnar.buffer cimport Memory, allocate
from siddhi._core.record.null cimport is_null

cdef extern from "Python.h":
    bint PyUnicode_CheckExact(PyObject* value)


@cython.final
cdef class ColumnChunk:
    """A typed array with an optional validity bitmap; see the declaration for its fields."""

    def __len__(self):
        return self.length


cdef ColumnChunk new_chunk(int kind, str type_name, Py_ssize_t length, const void* values, object owner):
    """Return a chunk without nulls."""
    cdef ColumnChunk chunk = ColumnChunk.__new__(ColumnChunk)
    chunk.kind = kind
    chunk.type_name = type_name
    chunk.length = length
    chunk.values = values
    chunk.owner = owner
    return chunk


cdef ColumnChunk chunk_of_objects(tuple values, str type_name):
    """Return a chunk of Python objects, owned by the tuple; None and pandas.NA are null."""
    cdef Py_ssize_t i, n = len(values)
    cdef Memory memory = allocate(n * sizeof(void*))
    cdef void** out = <void**> memory.data
    cdef PyObject* value
    cdef bint holes = False
    cdef ColumnChunk chunk
    for i in range(n):
        value = PyTuple_GET_ITEM(values, i)
        out[i] = <void*> value if PyUnicode_CheckExact(value) or not is_null(<object> value) else NULL
        holes |= out[i] is NULL
    chunk = new_chunk(KIND_OBJECTS, type_name, n, out, (memory, values))
    chunk.holes = holes
    return chunk
