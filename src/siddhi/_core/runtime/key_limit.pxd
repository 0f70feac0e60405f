# A limit on the keys of one keyed state: how many there may be, and how long one may stay unused.
#
# Keys are known by their id. Those that may be dropped form a list in order of use, the oldest first, so that a use, a
# drop and the search for the oldest cost the same whatever the number of keys. A key whose rows a window still holds is
# not in the list: to drop it would leave rows that take away what nobody added.

from libc.stdint cimport int64_t, uint32_t, uint8_t

from siddhi._core.index.hash_index cimport KeyMap
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

cdef enum OnFull:
    FAIL = 0                       # the row fails
    DROP_OLDEST = 1                # the state of the oldest key makes room
    LOG = 2                        # the row is left out

cdef struct UseC:                  # of a key, by key id
    uint32_t previous              # towards the oldest; NO_ID: none
    uint32_t next
    int64_t time                   # of its last use, ms
    uint8_t listed

cdef class KeyLimit:
    cdef readonly Py_ssize_t most          # keys held at a time; -1: any number
    cdef readonly int64_t ttl              # ms after its last use that a key is kept; 0: for good
    cdef readonly int on_full
    cdef readonly long long refused        # rows that found no room
    cdef readonly long long dropped        # keys that made room
    cdef readonly long long purged         # keys that were unused for `ttl`
    cdef object report
    cdef Py_ssize_t warn_at                # 0: has been done
    cdef UseC* uses                        # [capacity]
    cdef Py_ssize_t capacity
    cdef uint32_t oldest                   # NO_ID: the list is empty
    cdef uint32_t newest
    cdef int use(self, uint32_t key_id, int64_t now) except -1           # makes it the newest
    cdef void unlist(self, uint32_t key_id) noexcept                     # in use, or gone
    cdef void set_back(self, int64_t now) noexcept
    cdef uint32_t idle(self, int64_t now) noexcept                     # a key unused for `ttl`, or NO_ID
    cdef bint allows(self, Py_ssize_t held) except -1                  # so many; warns when that is nearly too much
    cdef object refuse(self, tuple key)                                # the error, or None where it is only logged
    cdef int drop(self) except -1                                      # counts; the caller drops the state
    cdef int purge(self) except -1
    cdef void clear(self) noexcept
    cdef int write(self, KeyMap keys, SnapshotWriter writer) except -1
    cdef int read(self, KeyMap keys, SnapshotReader reader) except -1
