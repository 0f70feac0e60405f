"""Columns into records. Values first, null bits after them, so that a column without nulls never tests for one."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from siddhi._core.column_chunk cimport (
    KIND_BITS, KIND_F32, KIND_F64, KIND_I8, KIND_I16, KIND_I32, KIND_I64, KIND_NULLS, KIND_U8, KIND_U16, KIND_U32,
    KIND_U64, ColumnChunk, has_value,
)
from siddhi._core.event cimport DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, CellC, EventC

ctypedef fused source_t:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t
    float
    double

ctypedef fused target_t:
    int32_t
    int64_t
    float
    double


cdef void spread(const source_t* values, Py_ssize_t n, EventC** events, int cell, target_t* kind) noexcept:
    """``kind`` is only a type."""
    cdef Py_ssize_t i
    for i in range(n):
        if target_t is float and (source_t is int64_t or source_t is uint64_t):
            # By way of double, as a single row goes.
            (<target_t*> &events[i].body[cell])[0] = <target_t> <double> values[i]
        else:
            (<target_t*> &events[i].body[cell])[0] = <target_t> values[i]


cdef int spread_numbers(int source, const void* values, Py_ssize_t start, Py_ssize_t n, EventC** events, int cell,
                        target_t* kind) except -1:
    if source == KIND_F64:
        spread(<const double*> values + start, n, events, cell, kind)
    elif source == KIND_I64:
        spread(<const int64_t*> values + start, n, events, cell, kind)
    elif source == KIND_I32:
        spread(<const int32_t*> values + start, n, events, cell, kind)
    elif source == KIND_F32:
        spread(<const float*> values + start, n, events, cell, kind)
    elif source == KIND_I16:
        spread(<const int16_t*> values + start, n, events, cell, kind)
    elif source == KIND_I8:
        spread(<const int8_t*> values + start, n, events, cell, kind)
    elif source == KIND_U8:
        spread(<const uint8_t*> values + start, n, events, cell, kind)
    elif source == KIND_U16:
        spread(<const uint16_t*> values + start, n, events, cell, kind)
    elif source == KIND_U32:
        spread(<const uint32_t*> values + start, n, events, cell, kind)
    elif source == KIND_U64:
        spread(<const uint64_t*> values + start, n, events, cell, kind)
    else:
        raise SystemError(f"no loop from column kind {source} to numbers")
    return 0


cdef void spread_bits(const uint8_t* bits, Py_ssize_t bit, Py_ssize_t n, EventC** events, int cell) noexcept:
    cdef Py_ssize_t i
    for i in range(n):
        (<CellC*> &events[i].body[cell]).i = has_value(bits, bit + i)


cdef void spread_bytes(const uint8_t* flags, Py_ssize_t n, EventC** events, int cell) noexcept:
    cdef Py_ssize_t i
    for i in range(n):
        (<CellC*> &events[i].body[cell]).i = flags[i] != 0


cdef void spread_objects(const uint64_t* objects, Py_ssize_t n, EventC** events, int cell) noexcept:
    cdef Py_ssize_t i
    for i in range(n):
        events[i].body[cell] = objects[i]


cdef void mark_holes(const uint64_t* objects, Py_ssize_t n, EventC** events, int word, uint64_t bit) noexcept:
    cdef Py_ssize_t i
    for i in range(n):
        if objects[i] == 0:
            events[i].body[word] |= bit


cdef void mark_nulls(const uint8_t* valid, Py_ssize_t valid_bit, Py_ssize_t n, EventC** events, int word,
                     uint64_t bit) noexcept:
    cdef Py_ssize_t i = 0
    while i < n:
        if ((valid_bit + i) & 7) == 0 and i + 8 <= n and valid[(valid_bit + i) >> 3] == 0xff:
            i += 8
            continue
        if not has_value(valid, valid_bit + i):
            events[i].body[word] |= bit
        i += 1


cdef int fill_cells(int code, ColumnChunk chunk, Py_ssize_t start, Py_ssize_t n, EventC** events, int cell, int word,
                    uint64_t bit) except -1:
    """Cells of ``events[0:n]`` from rows ``start`` and on of a converted chunk."""
    cdef Py_ssize_t i
    if chunk.kind == KIND_NULLS:
        for i in range(n):
            events[i].body[cell] = 0
            events[i].body[word] |= bit
        return 0
    if code == STRING or code == OBJECT:
        spread_objects(<const uint64_t*> chunk.values + start, n, events, cell)
        if chunk.holes:
            mark_holes(<const uint64_t*> chunk.values + start, n, events, word, bit)
        return 0
    if code == DOUBLE:
        spread_numbers(chunk.kind, chunk.values, start, n, events, cell, <double*> NULL)
    elif code == LONG:
        spread_numbers(chunk.kind, chunk.values, start, n, events, cell, <int64_t*> NULL)
    elif code == INT:
        spread_numbers(chunk.kind, chunk.values, start, n, events, cell, <int32_t*> NULL)
    elif code == FLOAT:
        spread_numbers(chunk.kind, chunk.values, start, n, events, cell, <float*> NULL)
    elif chunk.kind == KIND_BITS:
        spread_bits(<const uint8_t*> chunk.values, chunk.bit + start, n, events, cell)
    else:
        spread_bytes(<const uint8_t*> chunk.values + start, n, events, cell)
    if chunk.valid is not NULL:
        mark_nulls(chunk.valid, chunk.valid_bit + start, n, events, word, bit)
    return 0
