"""Import of Arrow data through the PyCapsule interface, without an Arrow library."""

cimport cython
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, NAN, ldexp
from libc.stdint cimport uint16_t, uint8_t
from libc.string cimport memcpy, strerror

from siddhi._core.columnar.block cimport (
    DAYS, KIND_BITS, KIND_F32, KIND_F64, KIND_I16, KIND_I32, KIND_I64, KIND_I8, KIND_NULLS, KIND_TEXT32, KIND_TEXT64,
    KIND_U16, KIND_U32, KIND_U64, KIND_U8, KIND_VIEWS, MICROSECONDS, MILLISECONDS, NANOSECONDS, NO_TIME, SECONDS,
    ColumnChunk, is_integer, new_chunk,
)
from siddhi._core.columnar.buffer cimport Memory, allocate

# Arrow's format of a fixed-width or text type: (kind, name, bytes per value, time unit, plain bytes).
cdef dict FORMATS = {
    "n": (KIND_NULLS, "null", 0, NO_TIME, False),
    "b": (KIND_BITS, "bool", 0, NO_TIME, False),
    "c": (KIND_I8, "int8", 1, NO_TIME, False),
    "C": (KIND_U8, "uint8", 1, NO_TIME, False),
    "s": (KIND_I16, "int16", 2, NO_TIME, False),
    "S": (KIND_U16, "uint16", 2, NO_TIME, False),
    "i": (KIND_I32, "int32", 4, NO_TIME, False),
    "I": (KIND_U32, "uint32", 4, NO_TIME, False),
    "l": (KIND_I64, "int64", 8, NO_TIME, False),
    "L": (KIND_U64, "uint64", 8, NO_TIME, False),
    "e": (KIND_F32, "float16", 2, NO_TIME, False),
    "f": (KIND_F32, "float32", 4, NO_TIME, False),
    "g": (KIND_F64, "float64", 8, NO_TIME, False),
    "u": (KIND_TEXT32, "utf8", 4, NO_TIME, False),
    "U": (KIND_TEXT64, "large_utf8", 8, NO_TIME, False),
    "vu": (KIND_VIEWS, "utf8_view", 16, NO_TIME, False),
    "z": (KIND_TEXT32, "binary", 4, NO_TIME, True),
    "Z": (KIND_TEXT64, "large_binary", 8, NO_TIME, True),
    "vz": (KIND_VIEWS, "binary_view", 16, NO_TIME, True),
    "tdD": (KIND_I32, "date32", 4, DAYS, False),
    "tdm": (KIND_I64, "date64", 8, MILLISECONDS, False),
}
cdef dict TIME_UNITS = {"s": SECONDS, "m": MILLISECONDS, "u": MICROSECONDS, "n": NANOSECONDS}
cdef dict UNIT_NAMES = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
# Formats that no attribute accepts, by prefix, and what to do about them.
cdef tuple REFUSED = (
    ("d:", "decimal", "cast it to float64 or int64"),
    ("tt", "time of day", "cast it to int64"),
    ("tD", "duration", "cast it to int64"),
    ("ti", "interval", "cast it to int64"),
    ("w:", "fixed-size binary", "cast it to string"),
    ("+s", "struct", "take its fields out into columns"),
    ("+r", "run-end encoded", "decode it first"),
    ("+", "nested", "take its values out into columns"),
)


@cython.final
cdef class ArrowSchemaOwner:
    def __dealloc__(self):
        if self.c.release is not NULL:
            self.c.release(&self.c)


@cython.final
cdef class ArrowArrayOwner:
    def __dealloc__(self):
        if self.c.release is not NULL:
            self.c.release(&self.c)


@cython.final
cdef class ArrowTable:
    """Batches of one type; ``names`` is empty unless the type is a struct."""

    cdef list chunks(self, Py_ssize_t position, str name):
        """Return the pieces of a column (-1: of the whole data).

        Raises:
            ValueError: its type fits no attribute, or its data is damaged.
        """
        cdef ArrowSchema* schema = &self.schema.c
        cdef ArrowArrayOwner owner
        cdef ArrowArray* array
        cdef list out = []
        if position >= 0:
            schema = schema.children[position]
        if not self.arrays:
            out.append(describe(schema, name))
        for owner in self.arrays:
            array = &owner.c
            if position < 0:
                out.append(read_array(schema, array, array.offset, array.length, owner, name))
            else:
                # A struct may be a slice: its offset and length apply to its fields.
                out.append(read_array(schema, array.children[position], array.offset + array.children[position].offset,
                                      array.length, owner, name))
        return out


cdef ColumnChunk describe(const ArrowSchema* schema, str name):
    """Return a chunk of the right type without rows."""
    cdef ColumnChunk chunk
    cdef int kind, unit
    cdef bint binary
    kind, type_name, _, unit, binary = parse_format(schema.format.decode(), name)
    chunk = new_chunk(kind, type_name, 0, NULL, None)
    chunk.unit = unit
    chunk.binary = binary
    if schema.dictionary is not NULL:
        if not is_integer(kind):
            raise ValueError(f"column '{name}' is torn: its dictionary is indexed by {type_name}")
        chunk.dictionary = describe(schema.dictionary, name)
        chunk.type_name = f"dictionary of {chunk.dictionary.type_name}"
    return chunk


cdef ColumnChunk read_array(const ArrowSchema* schema, const ArrowArray* array, Py_ssize_t offset, Py_ssize_t length,
                            object owner, str name):
    """Return one array as a chunk: ``length`` rows from ``offset`` of its buffers."""
    cdef ColumnChunk chunk = describe(schema, name)
    cdef const char* values
    cdef Py_ssize_t width
    cdef int kind = chunk.kind
    cdef bint with_offsets = kind == KIND_TEXT32 or kind == KIND_TEXT64
    if offset < 0 or length < 0 or array.offset + array.length < offset + length:
        raise ValueError(f"column '{name}' is torn: its Arrow array has {array.length} rows, {length} were promised")
    chunk.length = length
    chunk.owner = owner
    if chunk.dictionary is not None:
        if array.dictionary is NULL:
            raise ValueError(f"column '{name}' is torn: its dictionary is missing")
        chunk.dictionary = read_array(schema.dictionary, array.dictionary, array.dictionary.offset,
                                      array.dictionary.length, owner, name)
    if kind == KIND_NULLS or length == 0:
        return chunk
    if array.n_buffers < (3 if with_offsets or kind == KIND_VIEWS else 2) or array.buffers[1] is NULL:
        raise ValueError(f"column '{name}' is torn: buffers of its Arrow array are missing")
    values = <const char*> array.buffers[1]
    if array.null_count != 0 and array.buffers[0] is not NULL:
        chunk.valid = <const uint8_t*> array.buffers[0]
        chunk.valid_bit = offset
    if kind == KIND_BITS:
        chunk.values = values
        chunk.bit = offset
        return chunk
    width = parse_format(schema.format.decode(), name)[2]
    chunk.values = values + offset * width
    if <size_t> chunk.values % <size_t> min(width, 8):
        align(chunk, (length + with_offsets) * width)
    if with_offsets:
        chunk.text = <const char*> array.buffers[2]
    elif kind == KIND_VIEWS:
        # validity, views, the data buffers, then their sizes
        chunk.buffers = array.buffers + 2
        chunk.n_buffers = array.n_buffers - 3
    elif schema.format[0] == b"e":
        widen_halves(chunk)
    return chunk


cdef int align(ColumnChunk chunk, Py_ssize_t n_bytes) except -1:
    """Copy misaligned values: Arrow recommends alignment and does not require it."""
    cdef Memory memory = allocate(n_bytes)
    memcpy(memory.data, chunk.values, n_bytes)
    chunk.values = memory.data
    chunk.owner = (chunk.owner, memory)
    return 0


cdef tuple parse_format(str form, str name):
    cdef tuple known = FORMATS.get(form)
    if known is not None:
        return known
    if form.startswith("ts") and len(form) > 3:
        unit = form[2]
        if unit in TIME_UNITS:
            zone = f", {form[4:]}" if form[4:] else ""
            return (KIND_I64, f"timestamp[{UNIT_NAMES[unit]}{zone}]", 8, TIME_UNITS[unit], False)
    for start, what, advice in REFUSED:
        if form.startswith(start):
            raise ValueError(f"column '{name}' is of a {what} Arrow type ('{form}'), which no attribute can take: "
                             f"{advice}")
    raise ValueError(f"column '{name}' is of an Arrow type ('{form}') that no attribute can take")


cdef int widen_halves(ColumnChunk chunk) except -1:
    """Convert half precision to single precision, without loss."""
    cdef Memory memory = allocate(chunk.length * sizeof(float))
    cdef const uint16_t* halves = <const uint16_t*> chunk.values
    cdef float* out = <float*> memory.data
    cdef double size
    cdef int exponent, fraction
    cdef Py_ssize_t i
    for i in range(chunk.length):
        exponent = (halves[i] >> 10) & 0x1f
        fraction = halves[i] & 0x3ff
        if exponent == 0x1f:
            size = INFINITY if fraction == 0 else NAN
        elif exponent == 0:
            size = ldexp(fraction, -24)
        else:
            size = ldexp(fraction + 0x400, exponent - 25)
        out[i] = <float> (-size if halves[i] & 0x8000 else size)
    chunk.values = out
    chunk.owner = (chunk.owner, memory)
    return 0


cdef ArrowTable import_arrow(object data):
    """Import the data that an object exports.

    Raises:
        ValueError: the producer failed, or rows of a record batch are null as a whole.
    """
    cdef ArrowTable table = ArrowTable.__new__(ArrowTable)
    cdef ArrowArrayOwner owner
    cdef Py_ssize_t i
    table.schema = ArrowSchemaOwner.__new__(ArrowSchemaOwner)
    table.arrays = []
    if hasattr(data, "__arrow_c_array__"):
        schema_capsule, array_capsule = data.__arrow_c_array__()
        move_schema(schema_capsule, table.schema)
        owner = ArrowArrayOwner.__new__(ArrowArrayOwner)
        move_array(array_capsule, owner)
        table.arrays.append(owner)
    else:
        read_stream(data.__arrow_c_stream__(), table)
    table.is_struct = table.schema.c.format[0] == b"+" and table.schema.c.format[1] == b"s"
    table.names = []
    if table.is_struct:
        for i in range(table.schema.c.n_children):
            table.names.append(table.schema.c.children[i].name.decode() if table.schema.c.children[i].name is not NULL
                               else "")
    for owner in table.arrays:
        table.length += owner.c.length
        if table.is_struct:
            if owner.c.n_children != table.schema.c.n_children:
                raise ValueError(f"the Arrow data is torn: {owner.c.n_children} columns, not "
                                 f"{table.schema.c.n_children}")
            if has_null_rows(&owner.c):
                raise ValueError("the Arrow data has rows that are null as a whole: drop them first")
    return table


cdef bint has_null_rows(const ArrowArray* array) noexcept:
    cdef const uint8_t* valid
    cdef Py_ssize_t i
    if array.null_count == 0 or array.n_buffers < 1 or array.buffers[0] is NULL:
        return False
    valid = <const uint8_t*> array.buffers[0]
    for i in range(array.offset, array.offset + array.length):
        if not (valid[i >> 3] >> (i & 7)) & 1:
            return True
    return False


cdef int move_schema(object capsule, ArrowSchemaOwner owner) except -1:
    cdef ArrowSchema* source = <ArrowSchema*> PyCapsule_GetPointer(capsule, b"arrow_schema")
    if source.release is NULL:
        raise ValueError("the Arrow schema has been taken by somebody else")
    owner.c = source[0]
    source.release = NULL
    return 0


cdef int move_array(object capsule, ArrowArrayOwner owner) except -1:
    cdef ArrowArray* source = <ArrowArray*> PyCapsule_GetPointer(capsule, b"arrow_array")
    if source.release is NULL:
        raise ValueError("the Arrow array has been taken by somebody else")
    owner.c = source[0]
    source.release = NULL
    return 0


cdef int read_stream(object capsule, ArrowTable table) except -1:
    """Read all arrays of a stream. The interpreter lock is released meanwhile: producers may wait for threads."""
    cdef ArrowArrayStream* stream = <ArrowArrayStream*> PyCapsule_GetPointer(capsule, b"arrow_array_stream")
    cdef ArrowArrayOwner owner
    cdef ArrowSchema* schema = &table.schema.c
    cdef ArrowArray* array
    cdef int code
    if stream.release is NULL:
        raise ValueError("the Arrow stream has been taken by somebody else")
    try:
        with nogil:
            code = stream.get_schema(stream, schema)
        while code == 0:
            owner = ArrowArrayOwner.__new__(ArrowArrayOwner)
            array = &owner.c
            with nogil:
                code = stream.get_next(stream, array)
            if code == 0 and array.release is NULL:
                return 0
            if code == 0 and array.length > 0:
                table.arrays.append(owner)
        raise ValueError(f"the Arrow stream failed: {stream_error(stream, code)}")
    finally:
        with nogil:
            stream.release(stream)
        stream.release = NULL


cdef str stream_error(ArrowArrayStream* stream, int code):
    cdef const char* message = stream.get_last_error(stream)
    if message is NULL:
        message = strerror(code)
    return message.decode("utf-8", "replace")
