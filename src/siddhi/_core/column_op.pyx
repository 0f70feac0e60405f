"""Columns of a selection."""

from cpython.mem cimport PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

from siddhi._core.event cimport BOOL, OBJECT, STRING
from siddhi._core.executor cimport NULL_VALUE, TRUE, VARIABLE, Executor


cdef ColumnC* make_columns(tuple executors, Layout layout) except NULL:
    """One column per executor, for output records of a layout."""
    cdef int i, n = len(executors)
    cdef Executor executor
    cdef ColumnC* column
    cdef ColumnC* columns = <ColumnC*> PyMem_Malloc(max(1, n) * sizeof(ColumnC))
    if columns is NULL:
        raise MemoryError
    for i in range(n):
        executor = executors[i]
        column = &columns[i]
        column.x = &executor.c
        column.aggregates = column.accumulates = False
        column.code = executor.type
        column.source_cell, column.source_word, column.source_bit = executor.c.cell, executor.c.word, executor.c.bit
        column.cell = layout.cell(i)
        column.word = layout.null_word(i)
        column.bit = (<uint64_t> 1) << (i & 63)
        if executor.kind == VARIABLE:
            column.kind = COPY_OBJECT if executor.type in (STRING, OBJECT) else COPY
        elif executor.type in (STRING, OBJECT):
            column.kind = COMPUTE_OBJECT
        else:
            column.kind = COMPUTE_BOOL if executor.type == BOOL else COMPUTE
    return columns


cdef int write_column(const ColumnC* column, EventC* event, FrameC* frame, EventC* out) except -1:
    """Write one cell and its null bit."""
    cdef PyObject* value
    cdef int status
    if column.kind <= COPY_OBJECT:
        if event.body[column.source_word] & column.source_bit:
            out.body[column.word] |= column.bit
            return 0
        out.body[column.cell] = event.body[column.source_cell]
        if column.kind == COPY_OBJECT:
            Py_INCREF(<object> <PyObject*> event.body[column.source_cell])
        return 0
    if column.kind == COMPUTE_OBJECT:
        status = column.x.fn(column.x, event, frame, &value)
        if status != NULL_VALUE:
            Py_INCREF(<object> value)
            out.body[column.cell] = <uint64_t> value
    else:
        status = column.x.fn(column.x, event, frame, NULL)
        (<int*> &out.body[column.cell])[0] = status == TRUE
    if status == NULL_VALUE:
        out.body[column.word] |= column.bit
    return 0
