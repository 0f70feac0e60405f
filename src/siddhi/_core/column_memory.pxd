# Memory of columns. Large arrays come and go with every batch, and fresh pages cost more than filling them (a page fault
# takes about 1-2 us, 512 doubles 0.2 us): blocks are kept for the next batch, up to a bound.

cdef void* take_block(Py_ssize_t n_bytes) except NULL
cdef void give_block(void* block) noexcept                                   # NULL is fine
cdef void* grow_block(void* block, Py_ssize_t n_bytes) except NULL           # moves what is in it; NULL starts one
cdef void* shrink_block(void* block, Py_ssize_t n_bytes) noexcept            # keeps the first n_bytes

cdef class Memory:
    cdef void* data                  # a block, given back with this object

cdef Memory allocate(Py_ssize_t n_bytes)
cdef Memory allocate_zeros(Py_ssize_t n_bytes)
