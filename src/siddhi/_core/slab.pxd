# Memory in large pieces, for pools and tables. Where many records lie all over the memory, finding out where a page is costs
# as much as reading it; of large pages the processor remembers 512 times as much. A piece of more than half of such a
# page begins with one and ends with one, and the system is asked to make it of them; whether it does is its own affair.

cdef extern from *:
    """
    #include <stdlib.h>
    #include <string.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif

    #define SIDDHI_LARGE_PAGE ((size_t) 1 << 21)

    /* Uninitialised, from the beginning of a cache line on where the system can do that; NULL: out of memory. */
    static inline void *siddhi_take_slab(size_t bytes) {
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

    static inline void *siddhi_take_zeroed_slab(size_t bytes) {
        void *memory = siddhi_take_slab(bytes);
        if (memory != NULL)
            memset(memory, 0, bytes);
        return memory;
    }
    """
    const Py_ssize_t LARGE_PAGE "((Py_ssize_t) SIDDHI_LARGE_PAGE)"
    void* take_slab "siddhi_take_slab" (size_t bytes) noexcept
    void* take_zeroed_slab "siddhi_take_zeroed_slab" (size_t bytes) noexcept
    void give_slab "free" (void* slab) noexcept

cdef inline Py_ssize_t next_slab(Py_ssize_t records, Py_ssize_t record_bytes) noexcept:
    """Records of the slab that follows one of this many: twice as many, until they fill a large page."""
    return max(records, min(2 * records, LARGE_PAGE // record_bytes))
