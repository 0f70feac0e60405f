"""Blocks of memory in sizes of powers of two; large ones are cached for reuse."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.string cimport memcpy, memset

cdef enum:
    HEADER = 64                     # keeps what follows aligned to a cache line, as far as malloc's answer is
    SMALLEST = 6                    # log2 of bytes
    FIRST_KEPT = 15                 # smaller ones malloc keeps well enough itself
    LAST_KEPT = 26
    KEPT_EACH = 8                   # blocks per size

cdef struct HeaderC:
    int size_class                  # log2 of the bytes after the header

cdef void* kept[LAST_KEPT + 1][KEPT_EACH]
cdef int n_kept[LAST_KEPT + 1]
cdef Py_ssize_t kept_bytes = 0
cdef Py_ssize_t MAX_KEPT_BYTES = 64 << 20


cdef inline HeaderC* header_of(void* block) noexcept:
    return <HeaderC*> (<char*> block - HEADER)


cdef void* allocate_block(Py_ssize_t n_bytes) except NULL:
    """Allocate at least this many bytes, uninitialised."""
    global kept_bytes
    cdef int size_class = SMALLEST
    cdef char* memory
    while (<Py_ssize_t> 1) << size_class < n_bytes:
        size_class += 1
    if FIRST_KEPT <= size_class <= LAST_KEPT and n_kept[size_class] > 0:
        n_kept[size_class] -= 1
        kept_bytes -= (<Py_ssize_t> 1) << size_class
        return kept[size_class][n_kept[size_class]]
    memory = <char*> PyMem_Malloc(HEADER + ((<Py_ssize_t> 1) << size_class))
    if memory is NULL:
        raise MemoryError
    (<HeaderC*> memory).size_class = size_class
    return memory + HEADER


cdef void free_block(void* block) noexcept:
    global kept_bytes
    cdef int size_class
    cdef Py_ssize_t n_bytes
    if block is NULL:
        return
    size_class = header_of(block).size_class
    n_bytes = (<Py_ssize_t> 1) << size_class
    if (FIRST_KEPT <= size_class <= LAST_KEPT and n_kept[size_class] < KEPT_EACH
            and kept_bytes + n_bytes <= MAX_KEPT_BYTES):
        kept[size_class][n_kept[size_class]] = block
        n_kept[size_class] += 1
        kept_bytes += n_bytes
    else:
        PyMem_Free(<char*> block - HEADER)


cdef void* grow_block(void* block, Py_ssize_t n_bytes) except NULL:
    """Return a block with the same content and more room."""
    cdef void* larger
    cdef Py_ssize_t room
    if block is NULL:
        return allocate_block(n_bytes)
    room = (<Py_ssize_t> 1) << header_of(block).size_class
    if n_bytes <= room:
        return block
    larger = allocate_block(n_bytes)
    memcpy(larger, block, room)
    free_block(block)
    return larger


cdef void* shrink_block(void* block, Py_ssize_t n_bytes) noexcept:
    """Return a block with the beginning of the content and little spare room; the same block if out of memory."""
    cdef void* smaller
    if 2 * n_bytes >= (<Py_ssize_t> 1) << header_of(block).size_class:
        return block
    try:
        smaller = allocate_block(n_bytes)
    except MemoryError:
        return block
    memcpy(smaller, block, n_bytes)
    free_block(block)
    return smaller


@cython.final
cdef class Memory:
    """A block owned by this object."""

    def __dealloc__(self):
        free_block(self.data)


cdef Memory allocate(Py_ssize_t n_bytes):
    cdef Memory memory = Memory.__new__(Memory)
    memory.data = allocate_block(n_bytes)
    return memory


cdef Memory allocate_zeros(Py_ssize_t n_bytes):
    cdef Memory memory = allocate(n_bytes)
    memset(memory.data, 0, n_bytes)
    return memory


def kept_blocks():
    """Return the number of cached blocks and bytes."""
    cdef int size_class, n = 0
    for size_class in range(LAST_KEPT + 1):
        n += n_kept[size_class]
    return n, kept_bytes


def drop_kept_blocks():
    """Free all cached blocks."""
    global kept_bytes
    cdef int size_class
    for size_class in range(LAST_KEPT + 1):
        while n_kept[size_class] > 0:
            n_kept[size_class] -= 1
            PyMem_Free(<char*> kept[size_class][n_kept[size_class]] - HEADER)
    kept_bytes = 0
