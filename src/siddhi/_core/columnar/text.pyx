"""Texts as Python objects. Stream values repeat (symbols, hosts): recent objects are reused."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int16_t, int32_t, int64_t, int8_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcmp, memcpy

import sys

from siddhi._core.columnar.block cimport (
    KIND_I16, KIND_I32, KIND_I64, KIND_I8, KIND_OBJECTS, KIND_TEXT32, KIND_TEXT64, KIND_U16, KIND_U32, KIND_U8,
    ColumnChunk, has_value, new_chunk,
)
from siddhi._core.columnar.buffer cimport Memory, allocate

cdef enum:
    CACHE_SLOTS = 1024          # a power of two; 24 bytes each
    LONGEST_CACHED = 256        # bytes: comparing longer texts costs as much as creating them

ctypedef fused index_t:
    int8_t
    int16_t
    int32_t
    int64_t
    uint8_t
    uint16_t
    uint32_t
    uint64_t

cdef struct ViewC:              # Arrow's string view
    int32_t size
    char prefix[4]              # texts of up to 12 bytes are stored from here on
    int32_t buffer
    int32_t offset

cdef struct SlotC:
    const char* data            # in the column's buffer
    Py_ssize_t size
    PyObject* text              # owned by the maker's list


cdef object intern = sys.intern


@cython.final
cdef class TextMaker:
    """Creates and owns the objects of one chunk; a direct-mapped cache finds recent ones."""

    cdef list made
    cdef SlotC* slots
    cdef bint binary
    cdef str name
    cdef Py_ssize_t first_row

    def __cinit__(self, bint binary, str name, Py_ssize_t first_row):
        self.made = []
        self.binary = binary
        self.name = name
        self.first_row = first_row

    def __dealloc__(self):
        PyMem_Free(self.slots)

    cdef int remember(self) except -1:
        """Enable the cache; without it only ``make`` may be called."""
        self.slots = <SlotC*> PyMem_Calloc(CACHE_SLOTS, sizeof(SlotC))
        if self.slots is NULL:
            raise MemoryError
        return 0

    cdef PyObject* make(self, const char* data, Py_ssize_t size, Py_ssize_t row) except NULL:
        """Return a new object, owned by ``made``."""
        try:
            text = PyBytes_FromStringAndSize(data, size) if self.binary else PyUnicode_DecodeUTF8(data, size, NULL)
        except UnicodeDecodeError as error:
            raise ValueError(f"row {self.first_row + row}: column '{self.name}' holds what is not UTF-8: {error}"
                             ) from None
        self.made.append(text)
        return <PyObject*> text

    cdef PyObject* make_shared(self, const char* data, Py_ssize_t size, Py_ssize_t row) except NULL:
        """Like make(), but intern the text: it is the same object in every batch, so groups recognise its address."""
        self.make(data, size, row)
        if not self.binary:
            self.made[len(self.made) - 1] = intern(self.made[len(self.made) - 1])
        return <PyObject*> self.made[len(self.made) - 1]

    cdef inline PyObject* text(self, const char* data, Py_ssize_t size, Py_ssize_t row) except NULL:
        """Return the object of these bytes, borrowed."""
        cdef SlotC* slot
        cdef uint64_t head = 0, tail = 0
        cdef uint32_t half = 0
        if size >= 8:
            if size > LONGEST_CACHED:
                return self.make(data, size, row)
            memcpy(&head, data, 8)
            memcpy(&tail, data + size - 8, 8)
        elif size >= 4:
            memcpy(&half, data, 4)
            head = half
            memcpy(&half, data + size - 4, 4)
            tail = half
        elif size > 0:
            head = <uint8_t> data[0] | (<uint64_t> <uint8_t> data[size >> 1] << 8) | (
                <uint64_t> <uint8_t> data[size - 1] << 16)
        head = (head ^ (tail << 29) ^ (tail >> 35) ^ <uint64_t> size) * <uint64_t> 0x9e3779b97f4a7c15
        slot = &self.slots[head >> 54]
        if slot.text is not NULL and slot.size == size and memcmp(slot.data, data, size) == 0:
            return slot.text
        slot.text = self.make(data, size, row)
        slot.data = data
        slot.size = size
        return slot.text


cdef int torn(str name, Py_ssize_t row) except -1:
    raise ValueError(f"row {row}: column '{name}' is torn: an offset or index points outside its data")


cdef inline bint locate(ColumnChunk chunk, Py_ssize_t position, const char** data, Py_ssize_t* size) noexcept:
    """Locate the bytes of a text; return False if its offsets are invalid.

    Arrow does not store the length of a text buffer, so offsets beyond its end cannot be detected.
    """
    cdef const int32_t* small
    cdef const int64_t* large
    cdef ViewC* view
    if chunk.kind == KIND_TEXT32:
        small = <const int32_t*> chunk.values + position
        data[0] = chunk.text + small[0]
        size[0] = <Py_ssize_t> small[1] - small[0]
        return small[0] >= 0 and size[0] >= 0 and (chunk.text is not NULL or size[0] == 0)
    if chunk.kind == KIND_TEXT64:
        large = <const int64_t*> chunk.values + position
        data[0] = chunk.text + large[0]
        size[0] = large[1] - large[0]
        return large[0] >= 0 and size[0] >= 0 and (chunk.text is not NULL or size[0] == 0)
    view = <ViewC*> chunk.values + position
    size[0] = view.size
    if 0 <= view.size <= 12:
        data[0] = view.prefix
        return True
    if view.size < 0 or view.buffer < 0 or view.buffer >= chunk.n_buffers or view.offset < 0:
        return False
    data[0] = <const char*> chunk.buffers[view.buffer] + view.offset
    return <int64_t> view.offset + view.size <= (<const int64_t*> chunk.buffers[chunk.n_buffers])[view.buffer]


cdef ColumnChunk decode_text(ColumnChunk chunk, str name, Py_ssize_t first_row):
    """Return the texts of a chunk as objects.

    Raises:
        ValueError: not UTF-8, or offsets out of bounds; names row and column.
    """
    cdef Memory memory = allocate(chunk.length * sizeof(void*))
    cdef TextMaker maker = TextMaker(chunk.binary, name, first_row)
    cdef PyObject** out = <PyObject**> memory.data
    cdef const uint8_t* valid = chunk.valid
    cdef Py_ssize_t i, size = 0, valid_bit = chunk.valid_bit
    cdef const char* data = NULL
    maker.remember()
    for i in range(chunk.length):
        if valid is not NULL and not has_value(valid, valid_bit + i):
            out[i] = NULL
            continue
        if not locate(chunk, i, &data, &size):
            torn(name, first_row + i)
        out[i] = maker.text(data, size, i)
    return chunk_of_texts(chunk, memory, maker)


cdef ColumnChunk chunk_of_texts(ColumnChunk source, Memory memory, TextMaker maker):
    cdef ColumnChunk chunk
    chunk = new_chunk(KIND_OBJECTS, source.type_name, source.length, memory.data, (memory, maker.made))
    chunk.texts = not maker.binary
    chunk.holes = source.valid is not NULL or source.dictionary is not None and source.dictionary.valid is not NULL
    return chunk


cdef PyObject* decode_entry(ColumnChunk entries, TextMaker maker, Py_ssize_t entry, Py_ssize_t row) except? NULL:
    """Return one value of a dictionary, NULL for null."""
    cdef const char* data = NULL
    cdef Py_ssize_t size = 0
    if entries.valid is not NULL and not has_value(entries.valid, entries.valid_bit + entry):
        return NULL
    if not locate(entries, entry, &data, &size):
        torn(maker.name, maker.first_row + row)
    return maker.make_shared(data, size, row)


cdef int decode_indices(ColumnChunk chunk, TextMaker maker, const index_t* indices, PyObject** known,
                        PyObject** out) except -1:
    """Create entries when a row first needs them: a slice may have a dictionary much longer than itself."""
    cdef Py_ssize_t i, n = chunk.length
    cdef uint64_t index, size = chunk.dictionary.length
    cdef const uint8_t* valid = chunk.valid
    cdef Py_ssize_t valid_bit = chunk.valid_bit
    cdef PyObject* text
    for i in range(n):
        if valid is not NULL and not has_value(valid, valid_bit + i):
            out[i] = NULL
            continue
        index = <uint64_t> indices[i]
        if index >= size:
            torn(maker.name, maker.first_row + i)
        text = known[index]
        if text is NULL:
            text = known[index] = decode_entry(chunk.dictionary, maker, index, i)
        out[i] = text
    return 0


cdef ColumnChunk decode_dictionary(ColumnChunk chunk, str name, Py_ssize_t first_row):
    """Return the texts of a dictionary-encoded chunk as objects, one for each used entry.

    Raises:
        ValueError: not UTF-8, or an index out of bounds; names row and column.
    """
    cdef ColumnChunk entries = chunk.dictionary
    cdef Memory memory = allocate(chunk.length * sizeof(void*))
    cdef TextMaker maker = TextMaker(entries.binary, name, first_row)
    cdef PyObject** out = <PyObject**> memory.data
    cdef PyObject** known = <PyObject**> PyMem_Calloc(max(1, entries.length), sizeof(void*))
    cdef const void* values = chunk.values
    cdef int kind = chunk.kind
    if known is NULL:
        raise MemoryError
    try:
        if chunk.length == 0:
            pass
        elif kind == KIND_I8:
            decode_indices(chunk, maker, <const int8_t*> values, known, out)
        elif kind == KIND_I16:
            decode_indices(chunk, maker, <const int16_t*> values, known, out)
        elif kind == KIND_I32:
            decode_indices(chunk, maker, <const int32_t*> values, known, out)
        elif kind == KIND_I64:
            decode_indices(chunk, maker, <const int64_t*> values, known, out)
        elif kind == KIND_U8:
            decode_indices(chunk, maker, <const uint8_t*> values, known, out)
        elif kind == KIND_U16:
            decode_indices(chunk, maker, <const uint16_t*> values, known, out)
        elif kind == KIND_U32:
            decode_indices(chunk, maker, <const uint32_t*> values, known, out)
        else:
            decode_indices(chunk, maker, <const uint64_t*> values, known, out)
    finally:
        PyMem_Free(known)
    return chunk_of_texts(chunk, memory, maker)
