"""Limits on the number and the age of keys."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memset

from siddhi._core.index.hash_index cimport NO_ID


@cython.final
cdef class Refusals:
    """The errors of refused events."""


@cython.final
cdef class KeyLimit:
    """Limits the number of keys of a state and the time a key may stay unused; counts what was refused and removed.

    Args:
        most: maximum number of keys; -1: no limit.
        ttl_ms: how long a key is kept after its last use; 0: indefinitely.
        on_full: OnFull.
        report: reports to users; has ``nearly_full(count)``, ``refused(key)``, which returns an error,
            ``left_out(count, key)``, ``dropped(count)`` and ``purged(count)``.
    """

    def __init__(self, Py_ssize_t most, int64_t ttl_ms, int on_full, report not None):
        self.most = most
        self.ttl = ttl_ms
        self.on_full = on_full
        self.report = report
        self.warn_at = (4 * most + 4) // 5
        self.oldest = self.newest = NO_ID

    def __dealloc__(self):
        PyMem_Free(self.uses)

    cdef int use(self, uint32_t key_id, int64_t now) except -1:
        cdef UseC* uses
        cdef Py_ssize_t capacity
        self.set_back(now)
        if key_id >= self.capacity:
            capacity = max(16, 2 * self.capacity, <Py_ssize_t> key_id + 1)
            uses = <UseC*> PyMem_Realloc(self.uses, capacity * sizeof(UseC))
            if uses is NULL:
                raise MemoryError
            memset(uses + self.capacity, 0, (capacity - self.capacity) * sizeof(UseC))
            self.uses = uses
            self.capacity = capacity
        if self.newest != key_id or not self.uses[key_id].listed:
            self.unlist(key_id)
            self.uses[key_id].previous = self.newest
            self.uses[key_id].next = NO_ID
            self.uses[key_id].listed = True
            if self.newest == NO_ID:
                self.oldest = key_id
            else:
                self.uses[self.newest].next = key_id
            self.newest = key_id
        self.uses[key_id].time = now
        return 0

    cdef void unlist(self, uint32_t key_id) noexcept:
        cdef UseC* use
        if key_id >= self.capacity or not self.uses[key_id].listed:
            return
        use = &self.uses[key_id]
        if use.previous == NO_ID:
            self.oldest = use.next
        else:
            self.uses[use.previous].next = use.next
        if use.next == NO_ID:
            self.newest = use.previous
        else:
            self.uses[use.next].previous = use.previous
        use.listed = False

    cdef void set_back(self, int64_t now) noexcept:
        """Treat later times as now: the clock may have been set back since. This keeps the list in order."""
        cdef uint32_t key_id = self.newest
        while key_id != NO_ID and self.uses[key_id].time > now:
            self.uses[key_id].time = now
            key_id = self.uses[key_id].previous

    cdef uint32_t idle(self, int64_t now) noexcept:
        self.set_back(now)
        if self.ttl and self.oldest != NO_ID and self.uses[self.oldest].time + self.ttl <= now:
            return self.oldest
        return NO_ID

    cdef bint allows(self, Py_ssize_t count) except -1:
        if 0 <= self.most < count:
            return False
        if self.warn_at and count >= self.warn_at:
            self.warn_at = 0
            self.report.nearly_full(count)
        return True

    cdef object refuse(self, tuple key):
        self.refused += 1
        if self.on_full == LOG:
            self.report.left_out(self.refused, key)
            return None
        return self.report.refused(key)

    cdef int drop(self) except -1:
        self.dropped += 1
        self.report.dropped(self.dropped)
        return 0

    cdef int purge(self) except -1:
        self.purged += 1
        self.report.purged(self.purged)
        return 0

    cdef void clear(self) noexcept:
        cdef Py_ssize_t key_id
        for key_id in range(self.capacity):
            self.uses[key_id].listed = False
        self.oldest = self.newest = NO_ID

    # --- snapshots: the list, oldest first

    cdef int write(self, KeyMap keys, SnapshotWriter writer, list unlisted) except -1:
        cdef uint32_t key_id = self.oldest, n = <uint32_t> len(unlisted)
        cdef int64_t latest = 0 if self.newest == NO_ID else self.uses[self.newest].time
        while key_id != NO_ID:
            n += 1
            key_id = self.uses[key_id].next
        writer.put_u32(n)
        key_id = self.oldest
        while key_id != NO_ID:
            writer.put_u32(key_id)
            writer.put_time(self.uses[key_id].time)
            key_id = self.uses[key_id].next
        for key_id in unlisted:
            writer.put_u32(key_id)
            writer.put_time(latest)
        return 0

    cdef list read(self, KeyMap keys, SnapshotReader reader):
        cdef uint32_t key_id, i, n = reader.get_u32()
        cdef list key_ids = []
        cdef int64_t time, before = -(<int64_t> 1 << 62)
        self.clear()
        for i in range(n):  # no-cython-lint
            key_id = reader.get_u32()
            time = reader.get_time()
            if not keys.is_live(key_id) or (key_id < self.capacity and self.uses[key_id].listed):
                raise ValueError("snapshot is damaged: an age belongs to an unknown key")
            # Older snapshots may hold decreasing times, if the clock was set back between two runs.
            before = max(before, time)
            self.use(key_id, before)
            key_ids.append(key_id)
        return key_ids
