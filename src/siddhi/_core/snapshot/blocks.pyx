"""Content-defined chunking: splits a snapshot into blocks at places that depend on the content only. So unchanged bytes form
the same blocks in the next snapshot, also at another offset.

A block ends after a byte where ten bits of a hash of the last 64 bytes are zero (the gear hash of FastCDC). Inserted or
removed bytes move only the cuts next to them.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint64_t, uint8_t

cdef enum:
    SHORTEST = 1 << 8
    LONGEST = 1 << 12

# A cut follows on average 1 KB after the shortest length. All of the last 64 bytes contribute to the upper bits.
cdef uint64_t MASK = (<uint64_t> 0x3ff) << 54
cdef uint64_t[256] GEAR


cdef void fill_gear() noexcept:
    # splitmix64. Any random numbers would do, as long as they are the same in every process.
    cdef uint64_t state = 0, mixed
    cdef int i
    for i in range(256):
        state += <uint64_t> 0x9E3779B97F4A7C15
        mixed = (state ^ (state >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
        mixed = (mixed ^ (mixed >> 27)) * <uint64_t> 0x94D049BB133111EB
        GEAR[i] = mixed ^ (mixed >> 31)


fill_gear()


def cuts(bytes data not None):
    """Return the end of each block of some bytes, in order; the last one is the length of the bytes."""
    cdef const uint8_t* cursor = <const uint8_t*> PyBytes_AS_STRING(data)
    cdef Py_ssize_t start = 0, i, limit, n = PyBytes_GET_SIZE(data)
    cdef uint64_t hash
    cdef list ends = []
    while start < n:
        i = min(start + SHORTEST, n)
        limit = min(start + LONGEST, n)
        hash = 0
        while i < limit:
            hash = (hash << 1) + GEAR[cursor[i]]
            i += 1
            if not hash & MASK:
                break
        ends.append(i)
        start = i
    return ends
