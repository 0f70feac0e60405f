# Sources of columns: data frames, Arrow tables, mappings and arrays, recognised once per call.

from siddhi._core.record.event cimport Layout

cdef class ColumnSource:
    cdef readonly list names             # column names
    cdef readonly Py_ssize_t length      # number of rows; -1: unknown before a column is read
    cdef list chunks(self, str name)     # [ColumnChunk] of an existing column

cdef class KeyedSource(ColumnSource):
    cdef object columns                  # the table: columns[name] is a column

cdef ColumnSource open_source(object data)
cdef str column_with_nan(object data, Layout layout)     # of pandas, for a float or double; or None
cdef list chunks_of(object values, str name)             # [ColumnChunk] of one column: an array, a series or a sequence
