# Prefetching. When records are spread over much memory, cache misses cost more than everything else. The events of a
# block are known in advance: while one is processed, the memory that the next ones need is prefetched.

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__)
    /* Prefetch for writing: every prefetched line is changed. Processors without the instruction ignore it. */
    #define SIDDHI_PREFETCH(place) __asm__ volatile ("prefetchw %0" : : "m" (*(const char *) (place)))
    #elif defined(__GNUC__) || defined(__clang__)
    #define SIDDHI_PREFETCH(place) __builtin_prefetch(place)
    #else
    #define SIDDHI_PREFETCH(place) ((void) (place))
    #endif
    """
    void prefetch_line "SIDDHI_PREFETCH" (const void* place) noexcept nogil

cdef enum:
    PREFETCH_MIN_SIZE = 4096          # records; fewer stay in the cache without prefetching
