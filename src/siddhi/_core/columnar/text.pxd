# Texts in: strings, views and dictionaries become arrays of Python objects; repeated values share an object.

from siddhi._core.columnar.block cimport ColumnChunk

cdef ColumnChunk decode_text(ColumnChunk chunk, str name, Py_ssize_t first_row)      # KIND_TEXT*, KIND_VIEWS
cdef ColumnChunk decode_dictionary(ColumnChunk chunk, str name, Py_ssize_t first_row)
