/* Recursion check: whether the C stack of the calling thread has space left. Without it, a stream that feeds itself would
 * overflow the stack and crash the process. The size of the stack depends on platform, thread and user limits.
 */
#ifndef SIDDHI_STACK_H
#define SIDDHI_STACK_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#include <windows.h>
#define SIDDHI_THREAD_LOCAL __declspec(thread)
#else
#include <pthread.h>
#define SIDDHI_THREAD_LOCAL __thread
#endif

/* Space reserved for the innermost calls: a Python callback, an error handler, the log. A quarter of a small stack. */
#define SIDDHI_STACK_RESERVE ((size_t)256 * 1024)

/* Get the address range of the calling thread's stack; both 0 if the platform does not provide it. */
static inline void siddhi_stack_bounds(uintptr_t *low, uintptr_t *high)
{
    *low = *high = 0;
#if defined(_WIN32)
    {
        ULONG_PTR from, to;
        GetCurrentThreadStackLimits(&from, &to);
        *low = (uintptr_t)from;
        *high = (uintptr_t)to;
    }
#elif defined(__APPLE__)
    *high = (uintptr_t)pthread_get_stackaddr_np(pthread_self());
    *low = *high - pthread_get_stacksize_np(pthread_self());
#elif defined(__linux__)
    {
        pthread_attr_t attributes;
        void *address;
        size_t size;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
            if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
                *low = (uintptr_t)address;
                *high = *low + size;
            }
            pthread_attr_destroy(&attributes);
        }
    }
#endif
}

/* Return 1 if there is space, or if it is unknown (unknown platform, stack of a coroutine library). */
static inline int siddhi_stack_has_room(void)
{
    static SIDDHI_THREAD_LOCAL uintptr_t low, high, floor;
    volatile char here = 0;
    uintptr_t at = (uintptr_t)&here;
    if (high == 0) {
        size_t reserve;
        siddhi_stack_bounds(&low, &high);
        if (high == 0) high = 1; /* unknown; do not ask again: no address is below 1 */
        reserve = (high - low) / 4;
        floor = low + (reserve < SIDDHI_STACK_RESERVE ? reserve : SIDDHI_STACK_RESERVE);
    }
    return at < low || at >= high || at >= floor;
}

#endif
