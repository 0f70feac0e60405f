# Arenas: large blocks of memory for pools and tables. When records are spread over much memory, a TLB miss costs as much
# as the read itself; with huge pages the TLB covers 512 times as much memory. An arena of more than half a huge page is
# aligned to huge pages and sized in whole ones, and madvise() asks the kernel for them. The kernel may decline.

from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.string cimport memcpy

cdef extern from *:
    """
    #include <stdlib.h>
    #include <string.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif

    #define SIDDHI_LARGE_PAGE ((size_t) 1 << 21)

    /* Return uninitialised memory, aligned to a cache line where the platform allows. NULL: out of memory. */
    static inline void *siddhi_allocate_arena(size_t bytes) {
    #if defined(_WIN32)
        return malloc(bytes);
    #else
        void *memory = NULL;
    #if defined(MADV_HUGEPAGE)
        if (bytes > SIDDHI_LARGE_PAGE / 2) {
            bytes = (bytes + SIDDHI_LARGE_PAGE - 1) / SIDDHI_LARGE_PAGE * SIDDHI_LARGE_PAGE;
            if (posix_memalign(&memory, SIDDHI_LARGE_PAGE, bytes) != 0)
                return NULL;
            (void) madvise(memory, bytes, MADV_HUGEPAGE);
            return memory;
        }
    #endif
        return posix_memalign(&memory, 64, bytes) == 0 ? memory : NULL;
    #endif
    }

    /* Ask the kernel for huge pages in memory that has not been written yet. */
    static inline void siddhi_advise_large(void *memory, size_t bytes) {
    #if !defined(_WIN32) && defined(MADV_HUGEPAGE)
        size_t first = ((size_t) memory + SIDDHI_LARGE_PAGE - 1) / SIDDHI_LARGE_PAGE * SIDDHI_LARGE_PAGE;
        size_t last = ((size_t) memory + bytes) / SIDDHI_LARGE_PAGE * SIDDHI_LARGE_PAGE;
        if (first < last)
            (void) madvise((void *) first, last - first, MADV_HUGEPAGE);
    #else
        (void) memory;
        (void) bytes;
    #endif
    }

    static inline void *siddhi_allocate_zeroed_arena(size_t bytes) {
        void *memory = siddhi_allocate_arena(bytes);
        if (memory != NULL)
            memset(memory, 0, bytes);
        return memory;
    }
    """
    const Py_ssize_t LARGE_PAGE "((Py_ssize_t) SIDDHI_LARGE_PAGE)"
    void* allocate_arena "siddhi_allocate_arena" (size_t bytes) noexcept
    void* allocate_zeroed_arena "siddhi_allocate_zeroed_arena" (size_t bytes) noexcept
    void free_arena "free" (void* arena) noexcept
    void advise_large "siddhi_advise_large" (void* memory, size_t bytes) noexcept

cdef inline void* enlarge(void* memory, size_t used, size_t bytes) noexcept:
    """Reallocate and keep the first `used` bytes; use huge pages for large blocks. NULL: out of memory, no change."""
    cdef void* larger
    if bytes < <size_t> (2 * LARGE_PAGE):
        return PyMem_Realloc(memory, bytes)
    larger = PyMem_Malloc(bytes)
    if larger is not NULL:
        advise_large(larger, bytes)
        if used:
            memcpy(larger, memory, used)
        PyMem_Free(memory)
    return larger

cdef inline Py_ssize_t next_arena_size(Py_ssize_t records, Py_ssize_t record_bytes) noexcept:
    """Return the number of records of the next arena: twice as many as the last one, up to a huge page."""
    return max(records, min(2 * records, LARGE_PAGE // record_bytes))
