# One column of a selection: how its cell of the output record is written. Plain attributes are copied; other columns
# are typed closures that write into the cell.

from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int32_t, uint64_t, uint8_t

from siddhi._core.columnar.batch cimport BatchBuilder
from siddhi._core.expression.executor cimport ExecC
from siddhi._core.record.event cimport EventC, Layout
from siddhi._core.record.frame cimport NULL_VALUE, FrameC

cdef enum OutputColumnKind:
    COPY = 0                       # a number or bool attribute of the current event
    COPY_OBJECT = 1                # a string or object attribute of the current event
    COMPUTE = 2
    COMPUTE_OBJECT = 3
    COMPUTE_BOOL = 4

cdef struct ColumnC:
    const ExecC* x
    uint8_t kind                   # OutputColumnKind
    uint8_t code                   # TypeCode
    bint aggregates                # must be evaluated for every event, also if it is not emitted
    bint accumulates               # a bare aggregator; may update without a result (`out` NULL)
    int32_t source_cell
    int32_t source_word
    uint64_t source_bit
    int32_t cell
    int32_t word
    uint64_t bit

cdef ColumnC* make_columns(tuple executors, Layout layout) except NULL     # freed by the owner with PyMem_Free
cdef int write_column(const ColumnC* column, EventC* event, FrameC* frame, EventC* out) except -1

cdef inline int write_columns(const ColumnC* columns, int n, EventC* event, FrameC* frame, EventC* out) except -1:
    """Write all columns. The object cells of `out` must be NULL and its null words zero."""
    cdef const ColumnC* column = columns
    cdef const ColumnC* end = columns + n
    while column is not end:
        if column.kind <= COPY_OBJECT and not event.body[column.source_word] & column.source_bit:
            out.body[column.cell] = event.body[column.source_cell]
            if column.kind == COPY_OBJECT:
                Py_INCREF(<object> <PyObject*> event.body[column.source_cell])
        elif column.kind == COMPUTE:
            if column.x.fn(column.x, event, frame, &out.body[column.cell]) == NULL_VALUE:
                out.body[column.word] |= column.bit
        else:
            write_column(column, event, frame, out)
        column += 1
    return 0

# --- One column of a selection for a block of rows, written into the typed arrays of a batch.
cdef int compute_column(const ColumnC* column, EventC** events, Py_ssize_t n, FrameC* frame, int code,
                        void* data, uint8_t* valid, Py_ssize_t row) except -1
# An aggregator over events that enter and the events that leave before them (see Processor.process_pairs).
cdef int aggregate_column(const ColumnC* column, EventC** left, EventC** events, Py_ssize_t n, FrameC* frame, int code,
                          void* data, uint8_t* valid, Py_ssize_t row) except -1
# Write one row, column by column, for selections that cannot be evaluated per column. Counts the row on success only.
cdef int write_row(const ColumnC* columns, int n, EventC* event, FrameC* frame, BatchBuilder builder) except -1
cdef void copy_column(const ColumnC* column, EventC** events, Py_ssize_t n, int code,
                      void* data, uint8_t* valid, Py_ssize_t row) noexcept
# Copy a plain attribute into output records. References to objects are borrowed from the events.
cdef void borrow_column(const ColumnC* column, EventC** events, Py_ssize_t n, EventC** out) noexcept
