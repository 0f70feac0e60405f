# Arrow in: capsules become column chunks that borrow the producer's buffers.

from siddhi._core.arrow cimport ArrowArray, ArrowSchema

cdef class ArrowSchemaOwner:
    cdef ArrowSchema c               # released with this object

cdef class ArrowArrayOwner:
    cdef ArrowArray c                # released with this object

cdef class ArrowTable:
    cdef ArrowSchemaOwner schema
    cdef list arrays                 # [ArrowArrayOwner] batches of one type, in order
    cdef readonly bint is_struct     # a table; else a single column
    cdef readonly list names         # of its columns
    cdef readonly Py_ssize_t length
    cdef list chunks(self, Py_ssize_t position, str name)    # [ColumnChunk] of a column; -1: the table is the column

cdef ArrowTable import_arrow(object data)
