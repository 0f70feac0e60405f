# Asking for memory before it is needed. Where many records lie all over the memory, waiting for it costs more than all the
# rest. The events of a block are known beforehand, so that what they will need can be asked for while others are at work.

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__)
    /* For writing: everything that is fetched is changed. Where a processor does not know it, it is not an operation. */
    #define SIDDHI_PREFETCH(place) __asm__ volatile ("prefetchw %0" : : "m" (*(const char *) (place)))
    #elif defined(__GNUC__) || defined(__clang__)
    #define SIDDHI_PREFETCH(place) __builtin_prefetch(place)
    #else
    #define SIDDHI_PREFETCH(place) ((void) (place))
    #endif
    """
    void prefetch_line "SIDDHI_PREFETCH" (const void* place) noexcept nogil

cdef enum:
    PREFETCH_MIN_SIZE = 4096          # fewer records than this stay in the cache by themselves
