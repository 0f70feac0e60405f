# The structures of the Arrow C data interface, declared in include/siddhi/arrow.h.

from libc.stdint cimport int64_t

cdef extern from "siddhi/arrow.h":
    enum:
        ARROW_FLAG_NULLABLE

    struct ArrowSchema:
        const char* format
        const char* name
        const char* metadata
        int64_t flags
        int64_t n_children
        ArrowSchema** children
        ArrowSchema* dictionary
        void (*release)(ArrowSchema*) noexcept nogil
        void* private_data

    struct ArrowArray:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void** buffers
        ArrowArray** children
        ArrowArray* dictionary
        void (*release)(ArrowArray*) noexcept nogil
        void* private_data

    struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept nogil
        int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept nogil
        const char* (*get_last_error)(ArrowArrayStream*) noexcept nogil
        void (*release)(ArrowArrayStream*) noexcept nogil
        void* private_data

# --- Arrow in: capsules become column chunks that borrow the producer's buffers.
cdef class ArrowSchemaOwner:
    cdef ArrowSchema c               # released with this object

cdef class ArrowArrayOwner:
    cdef ArrowArray c                # released with this object

cdef class ArrowTable:
    cdef ArrowSchemaOwner schema
    cdef list arrays                 # [ArrowArrayOwner] batches of one type, in order
    cdef readonly bint is_struct     # a table; otherwise a single column
    cdef readonly list names         # column names
    cdef readonly Py_ssize_t length
    cdef list chunks(self, Py_ssize_t position, str name)    # [ColumnChunk] of a column; -1: the data is one column

cdef ArrowTable import_arrow(object data)
