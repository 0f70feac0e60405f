# A piece of a column in memory: a typed array and an optional validity bitmap, borrowed from an owner. Every kind of
# input is brought into this form; later steps do not depend on the source of a column.

from libc.stdint cimport int16_t, int32_t, int64_t, int8_t, uint16_t, uint32_t, uint8_t

cdef enum ColumnKind:
    KIND_NULLS           # nulls only
    KIND_BITS            # bool, one bit each
    KIND_BYTES           # bool, one byte each
    KIND_I8
    KIND_I16
    KIND_I32
    KIND_I64
    KIND_U8
    KIND_U16
    KIND_U32
    KIND_U64
    KIND_F32
    KIND_F64
    KIND_OBJECTS         # PyObject*, NULL for null
    KIND_TEXT32          # int32 offsets into `text`
    KIND_TEXT64          # int64 offsets into `text`
    KIND_VIEWS           # 16-byte views: short texts inside, long ones in `buffers`

cdef enum TimeUnit:
    NO_TIME
    DAYS
    SECONDS
    MILLISECONDS
    MICROSECONDS
    NANOSECONDS

cdef class ColumnChunk:
    cdef int kind
    cdef int unit                    # TimeUnit, if the integers are times
    cdef bint binary                 # texts are raw bytes
    cdef str type_name               # type name of the producer, for messages
    cdef Py_ssize_t length
    cdef const void* values          # of the first row; KIND_BITS: the byte that `bit` counts from
    cdef Py_ssize_t bit
    cdef const uint8_t* valid        # bitmap, bit set: a value; NULL: no nulls
    cdef Py_ssize_t valid_bit        # bit of the first row
    cdef bint holes                  # KIND_OBJECTS: may contain NULL
    cdef bint texts                  # KIND_OBJECTS: all are str
    cdef bint nan_is_null            # KIND_OBJECTS: NaN is null, if the attribute takes no NaN
    cdef const char* text
    cdef const void** buffers
    cdef Py_ssize_t n_buffers
    cdef ColumnChunk dictionary      # not None: the integers are indexes into it
    cdef object owner                # keeps all pointers valid

cdef inline bint has_value(const uint8_t* valid, Py_ssize_t position) noexcept:
    return (valid[position >> 3] >> (position & 7)) & 1

cdef inline bint is_integer(int kind) noexcept:
    return KIND_I8 <= kind <= KIND_U64

cdef ColumnChunk new_chunk(int kind, str type_name, Py_ssize_t length, const void* values, object owner)
cdef ColumnChunk chunk_of_objects(tuple values, str type_name)

cdef inline int64_t integer_at(ColumnChunk chunk, Py_ssize_t row) noexcept:
    """Return an integer of any kind; a uint64 beyond int64 becomes negative."""
    cdef int kind = chunk.kind
    if kind == KIND_I64 or kind == KIND_U64:
        return (<const int64_t*> chunk.values)[row]
    if kind == KIND_I32:
        return (<const int32_t*> chunk.values)[row]
    if kind == KIND_U32:
        return (<const uint32_t*> chunk.values)[row]
    if kind == KIND_I16:
        return (<const int16_t*> chunk.values)[row]
    if kind == KIND_U16:
        return (<const uint16_t*> chunk.values)[row]
    if kind == KIND_I8:
        return (<const int8_t*> chunk.values)[row]
    return (<const uint8_t*> chunk.values)[row]
