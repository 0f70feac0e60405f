# Memory of columns. Large arrays come and go with every batch, and fresh pages cost more than filling them (collecting
# 25,000 rows of four columns took 23 ns per row with fresh pages, 6 ns without): blocks are kept for the next batch, up
# to a bound.

cdef void* allocate_block(Py_ssize_t n_bytes) except NULL
cdef void free_block(void* block) noexcept                                   # NULL: no effect
cdef void* grow_block(void* block, Py_ssize_t n_bytes) except NULL           # moves what is in it; NULL starts one
cdef void* shrink_block(void* block, Py_ssize_t n_bytes) noexcept            # keeps the first n_bytes

cdef class Memory:
    cdef void* data                  # a block, freed with this object

cdef Memory allocate(Py_ssize_t n_bytes)
cdef Memory allocate_zeros(Py_ssize_t n_bytes)
