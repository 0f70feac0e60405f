# Columns in: Arrow data, numpy columns or a data frame become typed readers that fill records.

from libc.stdint cimport int64_t, uint64_t

from siddhi._core.columnar.block cimport ColumnChunk
from siddhi._core.record.event cimport EventC, Layout

cdef class ColumnReader:
    cdef readonly int code                # TypeCode of the attribute it fills
    cdef readonly Py_ssize_t length
    cdef list chunks                      # [ColumnChunk] converted for the attribute
    cdef ColumnChunk chunk                # the chunk read last
    cdef Py_ssize_t chunk_start           # first row of `chunk`
    cdef Py_ssize_t chunk_end
    cdef Py_ssize_t next_chunk            # index in `chunks`
    # Write cells [body index `cell`] of events[0:n] from rows start..start+n; for a null set `bit` in body[word] (the
    # caller must clear the words). Object cells are borrowed: the reader owns the objects. Blocks of some hundred
    # events are best: their records stay in the first-level cache from one column to the next.
    cdef int fill(self, EventC** events, Py_ssize_t start, Py_ssize_t n, int cell, int word, uint64_t bit) except -1
    cdef int seek(self, Py_ssize_t row) except -1

cdef class Columns:
    cdef readonly Py_ssize_t length
    cdef readonly tuple readers           # one ColumnReader per attribute, in attribute order
    cdef readonly Layout layout
    cdef const int64_t* timestamps        # [length] ms, or NULL without a timestamp column
    cdef int64_t earliest                 # smallest timestamp, or a bound that is a plausible time in ms
    cdef int64_t latest
    cdef object owner                     # keeps all pointers valid

cpdef Columns read_columns(object data, Layout layout, object timestamp)

# --- Loops from a chunk to the cells of records, one per type of source and cell.
cdef int fill_cells(int code, ColumnChunk chunk, Py_ssize_t start, Py_ssize_t n, EventC** events, int cell, int word,
                    uint64_t bit) except -1
