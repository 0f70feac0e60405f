# Where columns come from: data frames, Arrow tables, mappings and arrays, told apart once per call.

from siddhi._core.record.event cimport Layout

cdef class ColumnSource:
    cdef readonly list names             # of the columns there are
    cdef readonly Py_ssize_t length      # rows; -1: not known before a column is read
    cdef list chunks(self, str name)     # [ColumnChunk] of a column that is there

cdef ColumnSource open_source(object data)
cdef str column_with_nan(object data, Layout layout)     # of pandas, in a float or double attribute; or None
cdef list chunks_of(object values, str name)     # [ColumnChunk] of one column: an array, a series or a sequence
