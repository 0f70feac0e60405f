# Columns out: builders that collect events column by column, and the EventBatch passed to batch callbacks.

from libc.stdint cimport int32_t, int64_t, uint64_t, uint8_t

from siddhi._core.columnar.arrow_export cimport ExportC
from siddhi._core.record.event cimport EventC, Layout

cdef struct ColumnWriterC:                      # source of a column in a record
    void* data
    uint8_t* valid
    int32_t cell                          # body index of the cell and of its null word
    int32_t word
    uint64_t bit

cdef class BatchBuilder:
    cdef readonly Layout layout
    cdef readonly Py_ssize_t size
    cdef Py_ssize_t capacity
    cdef Py_ssize_t next_capacity         # first capacity: the size of the last batch
    cdef int64_t* timestamps              # [capacity] ms
    cdef void** data                      # [width] int32 int64 float double arrays, uint8 for bool, PyObject* owned
    cdef uint8_t** valid                  # [width] one byte per row: 1 value (preset), 0 null
    cdef ColumnWriterC* writers           # [width] 8-byte cells first, then objects, 4-byte cells, bools
    cdef int words
    cdef ColumnWriterC* ends[4]           # end of each of these four groups
    cdef int* order                       # [width] column of each writer
    cdef int grow(self) except -1
    cdef int make_columns(self) except -1
    cdef int resize(self, Py_ssize_t capacity) except -1
    cdef int shrink(self) except -1
    cdef int append(self, const EventC* event) except -1
    cdef int append_block(self, EventC** events, Py_ssize_t n) except -1
    cdef void append_nulls(self, const EventC* event, Py_ssize_t row) noexcept
    cdef EventBatch take(self)            # returns what was collected; the builder is empty again

cdef inline int reserve(BatchBuilder builder) except -1:
    """Reserve one more row; the caller may write it in place before counting it."""
    if builder.size == builder.capacity:
        builder.grow()
    return 0

cdef class EventBatch:
    cdef readonly Layout layout
    cdef Py_ssize_t size
    cdef int64_t* ts                      # the builder's arrays, owned
    cdef void** data
    cdef uint8_t** valid
    cdef int position_of(self, object name) except -1
    cdef bint has_nulls(self, int position) noexcept
    cdef object value(self, int position, Py_ssize_t row)
    cdef int copy_objects(self, int position, object array) except -1
    cdef int clear_nulls(self, int position) noexcept
    cdef int describe(self, ExportC* out) except -1
    cdef bytes bytes_of(self, const void* values, Py_ssize_t width)
    cdef tuple encoded(self, int position)

cdef class BatchBuffer:
    cdef EventBatch batch                 # owns the memory
    cdef void* values
    cdef int code
    cdef Py_ssize_t shape
    cdef Py_ssize_t stride
