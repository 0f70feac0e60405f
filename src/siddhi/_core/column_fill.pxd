# The loops between a chunk and the cells of records: one per type of source and cell, nothing else inside.

from libc.stdint cimport uint64_t

from siddhi._core.column_chunk cimport ColumnChunk
from siddhi._core.event cimport EventC

cdef int fill_cells(int code, ColumnChunk chunk, Py_ssize_t start, Py_ssize_t n, EventC** events, int cell, int word,
                    uint64_t bit) except -1
