"""Batches as Arrow. Numbers are exported without a copy; bitmaps and texts are written.

The memory of exported structures comes from malloc, since they may be released without the interpreter lock.
"""

from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memchr, memcpy

from siddhi._core.columnar.arrow_import cimport ARROW_FLAG_NULLABLE, ArrowArray, ArrowArrayStream, ArrowSchema
from siddhi._core.record.event cimport BOOL, OBJECT, STRING, Layout

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef const char* FORMATS[7]                             # by TypeCode
FORMATS[:] = [b"u", b"i", b"l", b"f", b"g", b"b", b""]
cdef int64_t MAX_SMALL_TEXT = 0x7fffffff                            # bytes that int32 offsets can address

ctypedef fused offset_t:
    int32_t
    int64_t

cdef struct NodeC:              # private data of an exported array
    PyObject* owner             # owner of borrowed memory
    const void* buffers[3]
    void* owned[3]              # freed with the array


# -- types ------------------------------------------------------------------------------------------------------------

cdef void release_schema(ArrowSchema* schema) noexcept nogil:
    cdef int64_t i
    for i in range(schema.n_children):
        if schema.children[i] is not NULL:
            if schema.children[i].release is not NULL:
                schema.children[i].release(schema.children[i])
            free(schema.children[i])
    free(schema.children)
    free(<void*> schema.name)
    schema.release = NULL


cdef void drop_schema(object capsule) noexcept:
    """Destroy a capsule; a consumer that moved the schema has set ``release`` to NULL."""
    cdef ArrowSchema* schema = <ArrowSchema*> PyCapsule_GetPointer(capsule, b"arrow_schema")
    if schema.release is not NULL:
        schema.release(schema)
    free(schema)


cdef int name_schema(ArrowSchema* schema, str name) except -1:
    cdef Py_ssize_t size = 0
    cdef const char* text = PyUnicode_AsUTF8AndSize(name, &size)
    cdef char* copy = <char*> malloc(size + 1)
    if copy is NULL:
        raise MemoryError
    memcpy(copy, text, size + 1)
    schema.name = copy
    return 0


cdef object export_schema(const ExportC* source):
    """Return a capsule with the struct type of all columns.

    Raises:
        TypeError: there is a column of objects.
    """
    cdef Layout layout = <Layout> source.layout
    cdef ArrowSchema* root = <ArrowSchema*> calloc(1, sizeof(ArrowSchema))
    cdef ArrowSchema* child
    cdef int i
    if root is NULL:
        raise MemoryError
    root.release = release_schema
    capsule = PyCapsule_New(root, b"arrow_schema", drop_schema)
    root.format = b"+s"
    name_schema(root, "")
    root.children = <ArrowSchema**> calloc(max(1, layout.width), sizeof(ArrowSchema*))
    if root.children is NULL:
        raise MemoryError
    root.n_children = layout.width
    for i in range(layout.width):
        if layout.codes[i] == OBJECT:
            raise TypeError(f"column '{layout.names[i]}' holds Python objects, which Arrow can't carry: take it out "
                            f"with batch['{layout.names[i]}'] and select the other columns in a query of their own")
        child = root.children[i] = <ArrowSchema*> calloc(1, sizeof(ArrowSchema))
        if child is NULL:
            raise MemoryError
        child.release = release_schema
        child.format = FORMATS[layout.codes[i]]
        if has_large_text(source, i):
            child.format = b"U"
        child.flags = ARROW_FLAG_NULLABLE
        name_schema(child, layout.names[i])
    return capsule


# -- values -----------------------------------------------------------------------------------------------------------

cdef void release_array(ArrowArray* array) noexcept nogil:
    cdef NodeC* node = <NodeC*> array.private_data
    cdef int64_t i
    for i in range(array.n_children):
        if array.children[i] is not NULL:
            if array.children[i].release is not NULL:
                array.children[i].release(array.children[i])
            free(array.children[i])
    free(array.children)
    for i in range(3):
        free(node.owned[i])
    if node.owner is not NULL:
        with gil:
            Py_DECREF(<object> node.owner)
    free(node)
    array.release = NULL


cdef void drop_array(object capsule) noexcept:
    cdef ArrowArray* array = <ArrowArray*> PyCapsule_GetPointer(capsule, b"arrow_array")
    if array.release is not NULL:
        array.release(array)
    free(array)


cdef ArrowArray* new_array(int64_t n_buffers, Py_ssize_t length) except NULL:
    cdef ArrowArray* array = <ArrowArray*> calloc(1, sizeof(ArrowArray))
    cdef NodeC* node = <NodeC*> calloc(1, sizeof(NodeC))
    if array is NULL or node is NULL:
        free(array)
        free(node)
        raise MemoryError
    array.length = length
    array.n_buffers = n_buffers
    array.buffers = node.buffers
    array.private_data = node
    array.release = release_array
    return array


cdef void* own(ArrowArray* array, int buffer, Py_ssize_t n_bytes) except NULL:
    """Return zeroed memory for one of the array's buffers."""
    cdef NodeC* node = <NodeC*> array.private_data
    node.owned[buffer] = calloc(max(1, n_bytes), 1)
    if node.owned[buffer] is NULL:
        raise MemoryError
    node.buffers[buffer] = node.owned[buffer]
    return node.owned[buffer]


cdef object export_array(const ExportC* source):
    """Return a capsule with a struct array of all columns.

    Raises:
        ValueError: a string cannot be written as UTF-8.
    """
    cdef Layout layout = <Layout> source.layout
    cdef ArrowArray* root = new_array(1, source.size)
    cdef int i
    capsule = PyCapsule_New(root, b"arrow_array", drop_array)
    root.children = <ArrowArray**> calloc(max(1, layout.width), sizeof(ArrowArray*))
    if root.children is NULL:
        raise MemoryError
    root.n_children = layout.width
    for i in range(layout.width):
        root.children[i] = new_array(3 if layout.codes[i] == STRING else 2, source.size)
        export_column(source, i, root.children[i])
    return capsule


cdef int export_column(const ExportC* source, int i, ArrowArray* out) except -1:
    cdef Layout layout = <Layout> source.layout
    cdef int code = layout.codes[i]
    cdef Py_ssize_t row, n = source.size, nulls = 0
    cdef const uint8_t* valid = source.valid[i]
    cdef const uint8_t* flags
    cdef uint8_t* bits
    cdef NodeC* node = <NodeC*> out.private_data
    if n > 0 and memchr(valid, 0, n) is not NULL:
        bits = <uint8_t*> own(out, 0, (n + 7) // 8)
        for row in range(n):
            if valid[row]:
                bits[row >> 3] |= 1 << (row & 7)
            else:
                nulls += 1
        out.null_count = nulls
    if code == STRING:
        if has_large_text(source, i):
            export_texts(source, i, out, <int64_t*> own(out, 1, (n + 1) * sizeof(int64_t)))
        else:
            export_texts(source, i, out, <int32_t*> own(out, 1, (n + 1) * sizeof(int32_t)))
    elif code == BOOL:
        bits = <uint8_t*> own(out, 1, (n + 7) // 8)
        flags = <const uint8_t*> source.data[i]
        for row in range(n):
            if valid[row] and flags[row]:
                bits[row >> 3] |= 1 << (row & 7)
    elif n == 0:
        own(out, 1, 0)
    else:
        node.buffers[1] = source.data[i]
        Py_INCREF(<object> source.owner)
        node.owner = source.owner
    return 0


cdef int64_t text_bytes(const ExportC* source, int i) except -1:
    cdef Layout layout = <Layout> source.layout
    cdef Py_ssize_t row, size = 0
    cdef int64_t total = 0
    cdef PyObject** texts = <PyObject**> source.data[i]
    for row in range(source.size):
        if source.valid[i][row]:
            try:
                PyUnicode_AsUTF8AndSize(<object> texts[row], &size)
            except UnicodeEncodeError as error:
                raise ValueError(f"row {row}: column '{layout.names[i]}' can't be written as UTF-8: {error}") from None
            total += size
    return total


cdef bint has_large_text(const ExportC* source, int i) except -1:
    """Return whether int32 offsets are too small."""
    if (<Layout> source.layout).codes[i] != STRING:
        return False
    return text_bytes(source, i) > MAX_SMALL_TEXT


cdef int export_texts(const ExportC* source, int i, ArrowArray* out, offset_t* offsets) except -1:
    cdef Py_ssize_t row, size = 0
    cdef int64_t at = 0
    cdef PyObject** texts = <PyObject**> source.data[i]
    cdef const char* text
    cdef char* data = <char*> own(out, 2, text_bytes(source, i))
    for row in range(source.size):
        if source.valid[i][row]:
            text = PyUnicode_AsUTF8AndSize(<object> texts[row], &size)
            memcpy(data + at, text, size)
            at += size
        offsets[row + 1] = <offset_t> at
    return 0


# -- streams ----------------------------------------------------------------------------------------------------------

cdef enum:
    EINVAL = 22

cdef struct ExportStreamC:            # private data of an exported stream
    ExportC source              # with a reference to its owner, which owns everything else
    bint is_read                # its only array has been taken
    char* error                 # of the last call, or NULL


cdef int failed(ExportStreamC* state, object error) noexcept:
    """Keep the message of an error for the consumer; return an errno."""
    cdef bytes text = str(error).encode("utf-8", "replace")
    free(state.error)
    state.error = <char*> malloc(len(text) + 1)
    if state.error is not NULL:
        memcpy(state.error, <const char*> text, len(text) + 1)
    return EINVAL


cdef int stream_schema(ArrowArrayStream* stream, ArrowSchema* out) noexcept with gil:
    cdef ExportStreamC* state = <ExportStreamC*> stream.private_data
    cdef ArrowSchema* made
    try:
        capsule = export_schema(&state.source)
        made = <ArrowSchema*> PyCapsule_GetPointer(capsule, b"arrow_schema")
        memcpy(out, made, sizeof(ArrowSchema))
        made.release = NULL
        return 0
    except BaseException as error:
        return failed(state, error)


cdef int stream_next(ArrowArrayStream* stream, ArrowArray* out) noexcept with gil:
    cdef ExportStreamC* state = <ExportStreamC*> stream.private_data
    cdef ArrowArray* made
    if state.is_read:
        out.release = NULL
        return 0
    try:
        capsule = export_array(&state.source)
        made = <ArrowArray*> PyCapsule_GetPointer(capsule, b"arrow_array")
        memcpy(out, made, sizeof(ArrowArray))
        made.release = NULL
        state.is_read = True
        return 0
    except BaseException as error:
        return failed(state, error)


cdef const char* stream_error(ArrowArrayStream* stream) noexcept nogil:
    return (<ExportStreamC*> stream.private_data).error


cdef void release_stream(ArrowArrayStream* stream) noexcept with gil:
    cdef ExportStreamC* state = <ExportStreamC*> stream.private_data
    Py_DECREF(<object> state.source.owner)
    free(state.error)
    free(state)
    stream.release = NULL


cdef void drop_stream(object capsule) noexcept:
    cdef ArrowArrayStream* stream = <ArrowArrayStream*> PyCapsule_GetPointer(capsule, b"arrow_array_stream")
    if stream.release is not NULL:
        stream.release(stream)
    free(stream)


cdef object export_stream(const ExportC* source):
    """Return a capsule with a stream of one struct array of all columns.

    Raises:
        TypeError: there is a column of objects.
    """
    cdef ArrowArrayStream* stream
    cdef ExportStreamC* state
    export_schema(source)       # the error is raised here, not by the consumer
    stream = <ArrowArrayStream*> calloc(1, sizeof(ArrowArrayStream))
    state = <ExportStreamC*> calloc(1, sizeof(ExportStreamC))
    if stream is NULL or state is NULL:
        free(stream)
        free(state)
        raise MemoryError
    state.source = source[0]
    Py_INCREF(<object> source.owner)
    stream.private_data = state
    stream.get_schema = stream_schema
    stream.get_next = stream_next
    stream.get_last_error = stream_error
    stream.release = release_stream
    return PyCapsule_New(stream, b"arrow_array_stream", drop_stream)
