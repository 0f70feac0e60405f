# Limit on the keys of one keyed state: their maximum number, and how long one may stay unused.
#
# Removable keys form a list in order of use, oldest first, so that a use, a removal and the search for the oldest take
# constant time. A key whose rows are buffered by a window is not in the list: without it, expiring rows would subtract
# values that were never added.

from libc.stdint cimport int64_t, uint32_t, uint8_t

from siddhi._core.index.hash_index cimport KeyMap
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef enum OnFull:
    FAIL = 0                       # the row fails
    DROP_OLDEST = 1                # the oldest key is removed
    LOG = 2                        # the row is dropped and logged

# The errors of refused events of a chunk. The entry of a query takes them event by event; without it, they are raised.
cdef class Refusals:
    cdef bint collects                     # an entry takes the errors from `pending`
    cdef object pending                    # error of the first event refused since they were taken last, or None

cdef struct UseC:                  # use of a key, by key id
    uint32_t previous              # the next older key; NO_ID: none
    uint32_t next
    int64_t time                   # time of the last use, ms
    uint8_t listed

cdef class KeyLimit:
    cdef readonly Py_ssize_t most          # maximum number of keys; -1: no limit
    cdef readonly int64_t ttl              # ms after its last use that a key is kept; 0: indefinitely
    cdef readonly int on_full
    cdef readonly long long refused        # number of rows refused
    cdef readonly long long dropped        # number of keys removed to make room
    cdef readonly long long purged         # number of keys removed after `ttl`
    cdef object report
    cdef Py_ssize_t warn_at                # number of keys that triggers the warning; 0: done
    cdef UseC* uses                        # [capacity]
    cdef Py_ssize_t capacity
    cdef uint32_t oldest                   # NO_ID: the list is empty
    cdef uint32_t newest
    cdef int use(self, uint32_t key_id, int64_t now) except -1           # makes it the newest
    cdef void unlist(self, uint32_t key_id) noexcept                     # its rows are buffered by a window, or removed
    cdef void set_back(self, int64_t now) noexcept
    cdef uint32_t idle(self, int64_t now) noexcept     # a key unused for `ttl`, or NO_ID
    cdef bint allows(self, Py_ssize_t count) except -1  # whether the limit allows so many keys; warns near it
    cdef object refuse(self, tuple key)                # the error, or None if it is only logged
    cdef int drop(self) except -1                      # counts a removal; the caller removes the state
    cdef int purge(self) except -1
    cdef void clear(self) noexcept
    # `unlisted`: keys that follow the list in the snapshot. read() lists them too, and returns all key ids in their order.
    cdef int write(self, KeyMap keys, SnapshotWriter writer, list unlisted) except -1
    cdef list read(self, KeyMap keys, SnapshotReader reader)
