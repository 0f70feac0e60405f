# Conversion of columns to the type of their attribute, by the rules of a single row, checked before anything is used.

from siddhi._core.columnar.block cimport ColumnChunk
from siddhi._core.record.event cimport Layout

# Returns a chunk that fill_cells accepts for the attribute's type: integers in range for int and long, numbers for
# float and double, bits or bytes for bool, objects for string and object, KIND_NULLS for each.
cdef ColumnChunk convert(ColumnChunk chunk, Layout layout, int position, str name, Py_ssize_t first_row)
