"""Conversion of columns to the type of their attribute, by the rules of a single row. Most need no copy."""

from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy

from siddhi._core.columnar.block cimport (
    DAYS, KIND_BITS, KIND_BYTES, KIND_F32, KIND_F64, KIND_I16, KIND_I32, KIND_I64, KIND_I8, KIND_NULLS, KIND_OBJECTS,
    KIND_TEXT32, KIND_U16, KIND_U32, KIND_U64, KIND_U8, MICROSECONDS, MILLISECONDS, NANOSECONDS, NO_TIME, SECONDS,
    ColumnChunk, chunk_of_objects, has_value, integer_at, is_integer, new_chunk,
)
from siddhi._core.columnar.buffer cimport Memory, allocate, allocate_zeros
from siddhi._core.columnar.text cimport decode_dictionary, decode_text
from siddhi._core.record.event cimport (
    BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING, CellC, EventC, Layout, cell_from_python,
)
from siddhi._core.record.event import TYPE_NAMES
from siddhi._core.record.exact cimport exact_text
from siddhi.errors import shown

cdef extern from "Python.h":
    bint PyUnicode_Check(PyObject* value)
    bint PyUnicode_CheckExact(PyObject* value)

cdef extern from "siddhi/single.h":
    double siddhi_shortest_double(float value)

ctypedef fused checked_t:
    int64_t
    uint32_t
    uint64_t

cdef int64_t LONG_MAX = 0x7fffffffffffffff


cdef ColumnChunk convert(ColumnChunk chunk, Layout layout, int position, str name, Py_ssize_t first_row):
    """Return the chunk in a form that ``fill_cells`` accepts.

    Raises:
        ValueError: wrong type of the column, or a value out of range; names attribute, row and value.
    """
    cdef int code = layout.codes[position]
    if chunk.dictionary is not None:
        if chunk.dictionary.kind >= KIND_TEXT32:
            chunk = decode_dictionary(chunk, name, first_row)
        else:
            chunk = decode_values(chunk, name, first_row)
    elif chunk.kind >= KIND_TEXT32:
        if code != STRING and code != OBJECT:
            wrong_type(chunk, layout, position, name)
        chunk = decode_text(chunk, name, first_row)
    if chunk.kind == KIND_NULLS:
        return chunk
    if chunk.kind == KIND_OBJECTS:
        return convert_objects(chunk, layout, position, first_row)
    if code == OBJECT:
        return box_values(chunk, name, first_row)
    if chunk.unit != NO_TIME:
        if code != LONG:
            wrong_type(chunk, layout, position, name)
        return to_milliseconds(chunk, name, first_row)
    if code == BOOL:
        if chunk.kind != KIND_BITS and chunk.kind != KIND_BYTES:
            wrong_type(chunk, layout, position, name)
    elif code == STRING or chunk.kind == KIND_BITS or chunk.kind == KIND_BYTES:
        wrong_type(chunk, layout, position, name)
    elif code == INT or code == LONG:
        if not is_integer(chunk.kind):
            wrong_type(chunk, layout, position, name)
        check_integers(chunk, layout, position, first_row)
    elif code == FLOAT and chunk.kind == KIND_F64:
        check_floats(chunk, layout, position, first_row)
    return chunk


cdef int wrong_type(ColumnChunk chunk, Layout layout, int position, str name) except -1:
    cdef int code = layout.codes[position]
    cdef str advice = ""
    if chunk.length == 0 and chunk.kind == KIND_F64:
        return 0    # type of an empty list in most libraries
    if (code == INT or code == LONG) and (chunk.kind == KIND_F64 or chunk.kind == KIND_F32):
        advice = (": cast it to an integer type (integers with missing values are floats in pandas, unless they are of its "
                  "type Int64)")
    raise ValueError(f"column '{name}' is {chunk.type_name}, attribute '{layout.names[position]}' "
                     f"({TYPE_NAMES[code]}) can't take it{advice}")


cdef int out_of_range(ColumnChunk chunk, Layout layout, int position, Py_ssize_t row, object value) except -1:
    raise ValueError(f"row {row}: attribute '{layout.names[position]}' ({TYPE_NAMES[layout.types[position]]}) "
                     f"can't take {shown(value)}: it is out of range")


# -- numbers ----------------------------------------------------------------------------------------------------------

cdef Py_ssize_t find_beyond(const checked_t* values, ColumnChunk chunk, int64_t low, int64_t high) noexcept:
    """Return the first row outside low..high, -1 if there is none."""
    cdef Py_ssize_t i, n = chunk.length
    cdef bint beyond = False
    for i in range(n):
        if checked_t is int64_t:
            beyond |= (values[i] < low) | (values[i] > high)
        else:
            beyond |= values[i] > <uint64_t> high
    if not beyond:
        return -1
    for i in range(n):
        if chunk.valid is not NULL and not has_value(chunk.valid, chunk.valid_bit + i):
            continue
        if checked_t is int64_t:
            if values[i] < low or values[i] > high:
                return i
        elif values[i] > <uint64_t> high:
            return i
    return -1


cdef int check_integers(ColumnChunk chunk, Layout layout, int position, Py_ssize_t first_row) except -1:
    cdef int code = layout.codes[position]
    cdef int64_t low = -0x80000000, high = 0x7fffffff if code == INT else LONG_MAX
    cdef Py_ssize_t row
    if code == INT and chunk.kind == KIND_I64:
        row = find_beyond(<const int64_t*> chunk.values, chunk, low, high)
        if row >= 0:
            out_of_range(chunk, layout, position, first_row + row, (<const int64_t*> chunk.values)[row])
    elif code == INT and chunk.kind == KIND_U32:
        row = find_beyond(<const uint32_t*> chunk.values, chunk, low, high)
        if row >= 0:
            out_of_range(chunk, layout, position, first_row + row, (<const uint32_t*> chunk.values)[row])
    elif chunk.kind == KIND_U64:
        row = find_beyond(<const uint64_t*> chunk.values, chunk, low, high)
        if row >= 0:
            out_of_range(chunk, layout, position, first_row + row, (<const uint64_t*> chunk.values)[row])
    return 0


cdef int check_floats(ColumnChunk chunk, Layout layout, int position, Py_ssize_t first_row) except -1:
    """Refuse finite doubles that become an infinite float."""
    cdef const double* values = <const double*> chunk.values
    cdef Py_ssize_t i, n = chunk.length
    cdef float narrow
    cdef bint beyond = False
    for i in range(n):
        narrow = <float> values[i]
        beyond |= ((narrow - narrow) != 0) & ((values[i] - values[i]) == 0)
    if not beyond:
        return 0
    for i in range(n):
        narrow = <float> values[i]
        if (narrow - narrow) != 0 and (values[i] - values[i]) == 0:
            if chunk.valid is NULL or has_value(chunk.valid, chunk.valid_bit + i):
                out_of_range(chunk, layout, position, first_row + i, values[i])
    return 0


# -- time -------------------------------------------------------------------------------------------------------------

cdef ColumnChunk to_milliseconds(ColumnChunk chunk, str name, Py_ssize_t first_row):
    """Convert times to int64 ms since the epoch; finer units round towards the past."""
    cdef Py_ssize_t i, n = chunk.length
    cdef Memory memory
    cdef int64_t* out
    cdef int64_t value, times = 1, part = 1, most
    cdef ColumnChunk made
    if chunk.unit == MILLISECONDS and chunk.kind == KIND_I64:
        return chunk
    if chunk.unit == DAYS:
        times = 86_400_000
    elif chunk.unit == SECONDS:
        times = 1000
    elif chunk.unit == MICROSECONDS:
        part = 1000
    elif chunk.unit == NANOSECONDS:
        part = 1_000_000
    most = LONG_MAX // times
    memory = allocate(n * sizeof(int64_t))
    out = <int64_t*> memory.data
    for i in range(n):
        value = integer_at(chunk, i)
        if value > most or value < -most:
            if chunk.valid is NULL or has_value(chunk.valid, chunk.valid_bit + i):
                raise ValueError(f"row {first_row + i}: column '{name}' ({chunk.type_name}) holds {value}, out of the "
                                 "range of milliseconds")
            value = 0
        # C division rounds towards zero
        out[i] = value * times if part == 1 else (value // part - (1 if value % part < 0 else 0))
    made = new_chunk(KIND_I64, chunk.type_name, n, out, (chunk.owner, memory))
    made.valid = chunk.valid
    made.valid_bit = chunk.valid_bit
    return made


# -- dictionaries of other things than text ---------------------------------------------------------------------------

cdef ColumnChunk decode_values(ColumnChunk chunk, str name, Py_ssize_t first_row):
    """Expand a dictionary of numbers or bools."""
    cdef ColumnChunk entries = chunk.dictionary
    cdef ColumnChunk made
    cdef Py_ssize_t i, n = chunk.length, width = width_of(entries.kind)
    cdef Memory memory = allocate_zeros(n * width)
    cdef Memory bits = allocate_zeros(n // 8 + 1)
    cdef uint8_t* valid = <uint8_t*> bits.data
    cdef char* out = <char*> memory.data
    cdef int64_t index
    if entries.kind == KIND_NULLS:
        return new_chunk(KIND_NULLS, chunk.type_name, n, NULL, None)
    for i in range(n):
        if chunk.valid is not NULL and not has_value(chunk.valid, chunk.valid_bit + i):
            continue
        index = integer_at(chunk, i)
        if index < 0 or index >= entries.length:
            raise ValueError(f"row {first_row + i}: column '{name}' is torn: an index points outside its dictionary")
        if entries.valid is not NULL and not has_value(entries.valid, entries.valid_bit + index):
            continue
        valid[i >> 3] |= 1 << (i & 7)
        if entries.kind == KIND_BITS:
            out[i] = has_value(<const uint8_t*> entries.values, entries.bit + index)
        else:
            memcpy(out + i * width, <const char*> entries.values + index * width, width)
    made = new_chunk(KIND_BYTES if entries.kind == KIND_BITS else entries.kind, chunk.type_name, n, out, (memory, bits))
    made.unit = entries.unit
    made.valid = valid
    return made


cdef Py_ssize_t width_of(int kind) noexcept:
    """Return the bytes of an expanded value; a bit expands to a byte."""
    if kind == KIND_I8 or kind == KIND_U8 or kind == KIND_BYTES or kind == KIND_BITS:
        return 1
    if kind == KIND_I16 or kind == KIND_U16:
        return 2
    if kind == KIND_I32 or kind == KIND_U32 or kind == KIND_F32:
        return 4
    if kind == KIND_I64 or kind == KIND_U64 or kind == KIND_F64:
        return 8
    return 0


# -- objects ----------------------------------------------------------------------------------------------------------

cdef ColumnChunk box_values(ColumnChunk chunk, str name, Py_ssize_t first_row):
    """Convert numbers, bools and times (ms) to Python objects, for an object attribute."""
    cdef Py_ssize_t i, n = chunk.length
    cdef list out = []
    cdef int kind
    if chunk.unit != NO_TIME:
        chunk = to_milliseconds(chunk, name, first_row)
    kind = chunk.kind
    for i in range(n):
        if chunk.valid is not NULL and not has_value(chunk.valid, chunk.valid_bit + i):
            out.append(None)
        elif kind == KIND_F64:
            out.append((<const double*> chunk.values)[i])
        elif kind == KIND_F32:
            out.append(siddhi_shortest_double((<const float*> chunk.values)[i]))
        elif kind == KIND_U64:
            out.append((<const uint64_t*> chunk.values)[i])
        elif kind == KIND_BITS:
            out.append(True if has_value(<const uint8_t*> chunk.values, chunk.bit + i) else False)
        elif kind == KIND_BYTES:
            out.append(True if (<const uint8_t*> chunk.values)[i] else False)
        else:
            out.append(integer_at(chunk, i))
    return chunk_of_objects(tuple(out), chunk.type_name)


cdef ColumnChunk convert_objects(ColumnChunk chunk, Layout layout, int position, Py_ssize_t first_row):
    """Convert Python objects: strings and objects stay, all else becomes a typed array, by the rules of a row."""
    cdef PyObject** objects = <PyObject**> chunk.values
    cdef int code = layout.codes[position]
    cdef Py_ssize_t i, n = chunk.length
    cdef bint exact
    cdef Memory memory, scratch, bits
    cdef EventC* event
    cdef ColumnChunk made
    cdef uint8_t* valid
    if code == OBJECT:
        return chunk
    if chunk.nan_is_null and code != DOUBLE and code != FLOAT:
        values = [None if objects[i] is NULL or is_nan(<object> objects[i]) else <object> objects[i] for i in range(n)]
        chunk = chunk_of_objects(tuple(values), chunk.type_name)
        objects = <PyObject**> chunk.values
    if code == STRING:
        exact = True
        for i in range(0 if chunk.texts else n):
            if objects[i] is NULL or PyUnicode_CheckExact(objects[i]):
                continue
            exact = False
            if not PyUnicode_Check(objects[i]):
                value = <object> objects[i]
                raise ValueError(f"row {first_row + i}: attribute '{layout.names[position]}' (string) can't take "
                                 f"{shown(value)}: it is a {type(value).__name__}")
        if exact:
            return chunk
        return chunk_of_objects(
            tuple([None if objects[i] is NULL else exact_text(<object> objects[i]) for i in range(n)]), chunk.type_name)
    # One record takes every value in turn, so that the rules of a row are implemented once.
    scratch = allocate(sizeof(EventC) + 8 * (layout.words + layout.width))
    event = <EventC*> scratch.data
    memory = allocate_zeros(8 * n)
    bits = allocate_zeros(n // 8 + 1)
    valid = <uint8_t*> bits.data
    for i in range(n):
        if objects[i] is NULL:
            continue
        try:
            cell_from_python(event, layout, position, <object> objects[i])
        except ValueError as error:
            raise ValueError(f"row {first_row + i}: {error}") from None
        valid[i >> 3] |= 1 << (i & 7)
        store(code, <CellC*> &event.body[layout.words + position], memory.data, i)
    if code == INT:
        made = new_chunk(KIND_I32, chunk.type_name, n, memory.data, (memory, bits))
    elif code == LONG:
        made = new_chunk(KIND_I64, chunk.type_name, n, memory.data, (memory, bits))
    elif code == FLOAT:
        made = new_chunk(KIND_F32, chunk.type_name, n, memory.data, (memory, bits))
    elif code == DOUBLE:
        made = new_chunk(KIND_F64, chunk.type_name, n, memory.data, (memory, bits))
    else:
        made = new_chunk(KIND_BYTES, chunk.type_name, n, memory.data, (memory, bits))
    made.valid = valid
    return made


cdef inline bint is_nan(object value) noexcept:
    return PyFloat_Check(value) and PyFloat_AS_DOUBLE(value) != PyFloat_AS_DOUBLE(value)


cdef inline void store(int code, const CellC* cell, void* out, Py_ssize_t row) noexcept:
    if code == DOUBLE:
        (<double*> out)[row] = cell.d
    elif code == LONG:
        (<int64_t*> out)[row] = cell.l
    elif code == INT:
        (<int32_t*> out)[row] = cell.i
    elif code == FLOAT:
        (<float*> out)[row] = cell.f
    else:
        (<uint8_t*> out)[row] = cell.i != 0
