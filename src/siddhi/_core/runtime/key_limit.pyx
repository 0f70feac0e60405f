"""Limits on the number and the age of keys."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.string cimport memset

from siddhi._core.index.hash_index cimport NO_SLOT


@cython.final
cdef class KeyLimit:
    """How many keys a state may hold, how long one may stay unused, and what was refused and dropped for that.

    Args:
        most: keys; -1: any number.
        ttl_ms: how long a key is kept behind its last use; 0: for good.
        on_full: OnFull.
        report: says it to people; has ``nearly_full(held)``, ``refused(key)``, which returns an error,
            ``left_out(count, key)``, ``dropped(count)`` and ``purged(count)``.
    """

    def __init__(self, Py_ssize_t most, int64_t ttl_ms, int on_full, report not None):
        self.most = most
        self.ttl = ttl_ms
        self.on_full = on_full
        self.report = report
        self.warn_at = (4 * most + 4) // 5
        self.oldest = self.newest = NO_SLOT

    def __dealloc__(self):
        PyMem_Free(self.uses)

    cdef int use(self, uint32_t slot, int64_t now) except -1:
        cdef UseC* uses
        cdef Py_ssize_t capacity
        self.set_back(now)
        if slot >= self.capacity:
            capacity = max(16, 2 * self.capacity, <Py_ssize_t> slot + 1)
            uses = <UseC*> PyMem_Realloc(self.uses, capacity * sizeof(UseC))
            if uses is NULL:
                raise MemoryError
            memset(uses + self.capacity, 0, (capacity - self.capacity) * sizeof(UseC))
            self.uses = uses
            self.capacity = capacity
        if self.newest != slot or not self.uses[slot].listed:
            self.unlist(slot)
            self.uses[slot].previous = self.newest
            self.uses[slot].next = NO_SLOT
            self.uses[slot].listed = True
            if self.newest == NO_SLOT:
                self.oldest = slot
            else:
                self.uses[self.newest].next = slot
            self.newest = slot
        self.uses[slot].time = now
        return 0

    cdef void unlist(self, uint32_t slot) noexcept:
        cdef UseC* use
        if slot >= self.capacity or not self.uses[slot].listed:
            return
        use = &self.uses[slot]
        if use.previous == NO_SLOT:
            self.oldest = use.next
        else:
            self.uses[use.previous].next = use.next
        if use.next == NO_SLOT:
            self.newest = use.previous
        else:
            self.uses[use.next].previous = use.previous
        use.listed = False

    cdef void set_back(self, int64_t now) noexcept:
        """A use later than now, by a clock that has been set back since, counts as one of now: the list stays in order."""
        cdef uint32_t slot = self.newest
        while slot != NO_SLOT and self.uses[slot].time > now:
            self.uses[slot].time = now
            slot = self.uses[slot].previous

    cdef uint32_t idle(self, int64_t now) noexcept:
        self.set_back(now)
        if self.ttl and self.oldest != NO_SLOT and self.uses[self.oldest].time + self.ttl <= now:
            return self.oldest
        return NO_SLOT

    cdef bint allows(self, Py_ssize_t held) except -1:
        if 0 <= self.most < held:
            return False
        if self.warn_at and held >= self.warn_at:
            self.warn_at = 0
            self.report.nearly_full(held)
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
        cdef Py_ssize_t slot
        for slot in range(self.capacity):
            self.uses[slot].listed = False
        self.oldest = self.newest = NO_SLOT

    # --- snapshots: the list, oldest first

    cdef int write(self, KeyMap keys, SnapshotWriter writer) except -1:
        cdef uint32_t slot = self.oldest, n = 0
        while slot != NO_SLOT:
            n += 1
            slot = self.uses[slot].next
        writer.put_u32(n)
        slot = self.oldest
        while slot != NO_SLOT:
            writer.put_u32(slot)
            writer.put_i64(self.uses[slot].time)
            slot = self.uses[slot].next
        return 0

    cdef int read(self, KeyMap keys, SnapshotReader reader) except -1:
        """The keys have been read."""
        cdef uint32_t slot, i, n = reader.get_u32()
        cdef int64_t time, before = -(<int64_t> 1 << 62)
        self.clear()
        for i in range(n):  # no-cython-lint
            slot = reader.get_u32()
            time = reader.get_time()
            if not keys.is_live(slot) or (slot < self.capacity and self.uses[slot].listed):
                raise ValueError("snapshot is damaged: the age of a key that is not there")
            # Older snapshots hold times that fall where the clock was set back between two runs.
            before = max(before, time)
            self.use(slot, before)
        return 0
