"""Content-defined chunking: splits bytes where their content says, so that unchanged blocks recur in the next snapshot
wherever they stand.

A cut is made behind a byte where a hash of the last 64 bytes ends in zeros (the gear hash of FastCDC). Bytes that are put in
or taken away so move the cuts around them only.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint64_t, uint8_t

cdef enum:
    SHORTEST = 1 << 8
    LONGEST = 1 << 12

# On average 1 KB after the shortest length; all of the last 64 bytes contribute to the upper bits.
cdef uint64_t MASK = (<uint64_t> 0x3ff) << 54
cdef uint64_t[256] GEAR


cdef void fill_gear() noexcept:
    # splitmix64: any numbers would do if they are the same in every process.
    cdef uint64_t state = 0, mixed
    cdef int i
    for i in range(256):
        state += <uint64_t> 0x9E3779B97F4A7C15
        mixed = (state ^ (state >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
        mixed = (mixed ^ (mixed >> 27)) * <uint64_t> 0x94D049BB133111EB
        GEAR[i] = mixed ^ (mixed >> 31)


fill_gear()


def cuts(bytes data not None):
    """Return where the blocks of some bytes end, in order; the last one is the end of the bytes."""
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
