"""Columns of a selection."""

from cpython.mem cimport PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from siddhi._core.columnar.batch cimport reserve
from siddhi._core.expression.executor cimport VARIABLE, ExecC, Executor
from siddhi._core.record.event cimport BOOL, CURRENT, EXPIRED, FLOAT, INT, OBJECT, STRING, CellC
from siddhi._core.record.frame cimport NULL_VALUE, TRUE, VALUE

cdef ColumnC* make_columns(tuple executors, Layout layout) except NULL:
    """Return one column per executor, for output records of a layout."""
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


# --- Columns of a selection by block. `valid` must be preset to ones.

cdef int compute_column(const ColumnC* column, EventC** events, Py_ssize_t n, FrameC* frame, int code,
                        void* data, uint8_t* valid, Py_ssize_t row) except -1:
    """Evaluate a column of numbers or bools, from row `row` on."""
    cdef const ExecC* x = column.x
    cdef Py_ssize_t j
    cdef int status
    if x.map is not NULL:
        if code == INT or code == FLOAT:
            if x.map(x, events, n, <int32_t*> data + row, valid + row):
                for j in range(row, row + n):
                    if not valid[j]:
                        (<int32_t*> data)[j] = 0
        elif x.map(x, events, n, <int64_t*> data + row, valid + row):
            for j in range(row, row + n):
                if not valid[j]:
                    (<int64_t*> data)[j] = 0
    elif code == BOOL:
        for j in range(n):
            status = x.fn(x, events[j], frame, NULL)
            (<uint8_t*> data)[row + j] = status == TRUE
            valid[row + j] = status != NULL_VALUE
    elif code == INT or code == FLOAT:
        for j in range(n):
            status = x.fn(x, events[j], frame, &(<int32_t*> data)[row + j])
            if status == NULL_VALUE:
                (<int32_t*> data)[row + j] = 0
            valid[row + j] = status != NULL_VALUE
    else:
        for j in range(n):
            status = x.fn(x, events[j], frame, &(<int64_t*> data)[row + j])
            if status == NULL_VALUE:
                (<int64_t*> data)[row + j] = 0
            valid[row + j] = status != NULL_VALUE
    return 0


cdef int aggregate_column(const ColumnC* column, EventC** left, EventC** events, Py_ssize_t n, FrameC* frame, int code,
                          void* data, uint8_t* valid, Py_ssize_t row) except -1:
    cdef const ExecC* x = column.x
    cdef bint half = code == INT or code == FLOAT
    cdef char* out = <char*> data + row * (4 if half else 8)
    cdef Py_ssize_t j, step = 4 if half else 8
    for j in range(n):
        if left[j] is not NULL:
            frame.type = EXPIRED
            x.fn(x, left[j], frame, NULL)
        frame.type = CURRENT
        if x.fn(x, events[j], frame, out) == NULL_VALUE:
            valid[row + j] = 0
            memset(out, 0, step)
        out += step
    return 0


cdef int write_row(const ColumnC* columns, int n, EventC* event, FrameC* frame, BatchBuilder builder) except -1:
    cdef Py_ssize_t row
    cdef int i, status
    cdef const ColumnC* column
    cdef CellC value
    cdef bint done = False
    reserve(builder)
    row = builder.size
    i = 0
    try:
        while i < n:
            column = &columns[i]
            if column.kind <= COPY_OBJECT:
                status = NULL_VALUE if event.body[column.source_word] & column.source_bit else VALUE
                value.bits = event.body[column.source_cell]
            else:
                status = column.x.fn(column.x, event, frame, &value)
            if column.code == BOOL:
                if column.kind > COPY_OBJECT:
                    value.i = status == TRUE
                (<uint8_t*> builder.data[i])[row] = status != NULL_VALUE and value.i != 0
            elif status == NULL_VALUE:
                pass
            elif column.code == INT or column.code == FLOAT:
                (<int32_t*> builder.data[i])[row] = value.i
            else:
                if column.code == STRING or column.code == OBJECT:
                    Py_INCREF(<object> <PyObject*> value.o)
                (<uint64_t*> builder.data[i])[row] = value.bits
            if status == NULL_VALUE:
                builder.valid[i][row] = 0
                if column.code != INT and column.code != FLOAT and column.code != BOOL:
                    (<uint64_t*> builder.data[i])[row] = 0
            i += 1
        done = True
    finally:
        if not done:
            while i > 0:
                i -= 1
                if (columns[i].code == STRING or columns[i].code == OBJECT) and builder.valid[i][row]:
                    Py_DECREF(<object> <PyObject*> (<uint64_t*> builder.data[i])[row])
                builder.valid[i][row] = 1
    builder.timestamps[row] = event.timestamp
    builder.size = row + 1
    return 0


cdef void copy_column(const ColumnC* column, EventC** events, Py_ssize_t n, int code,
                      void* data, uint8_t* valid, Py_ssize_t row) noexcept:
    """Copy a plain attribute, from row `row` on; references to objects are added."""
    cdef Py_ssize_t j
    cdef int cell = column.source_cell
    cdef uint64_t value, nulls = 0
    cdef uint64_t* words = (<uint64_t*> data) + row
    cdef int32_t* halves = (<int32_t*> data) + row
    cdef uint8_t* bytes_ = (<uint8_t*> data) + row
    for j in range(n):
        nulls |= events[j].body[column.source_word] & column.source_bit
    if nulls:
        for j in range(n):
            valid[row + j] = (events[j].body[column.source_word] & column.source_bit) == 0
    if code == INT or code == FLOAT:
        for j in range(n):
            halves[j] = (<const CellC*> &events[j].body[cell]).i if valid[row + j] else 0
    elif code == BOOL:
        for j in range(n):
            bytes_[j] = valid[row + j] and (<const CellC*> &events[j].body[cell]).i != 0
    elif column.kind == COPY:
        if nulls:
            for j in range(n):
                words[j] = events[j].body[cell] if valid[row + j] else 0
        else:
            for j in range(n):
                words[j] = events[j].body[cell]
    else:
        for j in range(n):
            value = events[j].body[cell] if valid[row + j] else 0
            words[j] = value
            if value:
                Py_INCREF(<object> <PyObject*> value)


cdef void borrow_column(const ColumnC* column, EventC** events, Py_ssize_t n, EventC** out) noexcept:
    cdef Py_ssize_t j
    cdef int source = column.source_cell, word = column.source_word, cell = column.cell
    cdef uint64_t nulls = 0
    for j in range(n):
        nulls |= events[j].body[word]
        out[j].body[cell] = events[j].body[source]
    if nulls & column.source_bit:
        for j in range(n):
            if events[j].body[word] & column.source_bit:
                out[j].body[cell] = 0
                out[j].body[column.word] |= column.bit
