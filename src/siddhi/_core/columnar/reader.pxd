# Columns in: whatever exports Arrow, numpy columns or a data frame becomes typed readers that fill records.

from libc.stdint cimport int64_t, uint64_t

from siddhi._core.columnar.block cimport ColumnChunk
from siddhi._core.record.event cimport EventC, Layout

cdef class ColumnReader:
    cdef readonly int code                # TypeCode of the attribute it fills
    cdef readonly Py_ssize_t length
    cdef list chunks                      # [ColumnChunk] converted to what the attribute takes
    cdef ColumnChunk chunk                # the one read last
    cdef Py_ssize_t chunk_start           # its first row
    cdef Py_ssize_t chunk_end
    cdef Py_ssize_t next_chunk            # position in `chunks`
    # Write cells [body index `cell`] of events[0:n] from rows start..start+n; nulls set `bit` in body[word] (the caller
    # cleared the words). Object cells are borrowed: the reader owns the objects as long as it lives. Blocks of some
    # hundred events are best: their records stay in the nearest cache from one column to the next.
    cdef int fill(self, EventC** events, Py_ssize_t start, Py_ssize_t n, int cell, int word, uint64_t bit) except -1
    cdef int seek(self, Py_ssize_t row) except -1

cdef class Columns:
    cdef readonly Py_ssize_t length
    cdef readonly tuple readers           # one ColumnReader per attribute, in attribute order
    cdef readonly Layout layout
    cdef const int64_t* timestamps        # [length] ms, or NULL when no timestamp column was asked for
    cdef int64_t earliest                 # of the timestamps, if there are any; or bounds that are ms of our time as well
    cdef int64_t latest
    cdef object owner                     # keeps everything alive

cpdef Columns read_columns(object data, Layout layout, object timestamp)

# --- The loops between a chunk and the cells of records: one per type of source and cell, nothing else inside.
cdef int fill_cells(int code, ColumnChunk chunk, Py_ssize_t start, Py_ssize_t n, EventC** events, int cell, int word,
                    uint64_t bit) except -1
