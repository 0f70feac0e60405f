"""Looking events up by a range."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport uint32_t
from libc.stdlib cimport qsort

from siddhi._core.executor cimport TRUE, ExecC
from siddhi._core.keymap cimport NO_SLOT
from siddhi._core.searchable cimport found_keep
from siddhi._core.searchable_index cimport keep_matching, refresh_held
from siddhi._core.table_order cimport EntryC, PlaceC

cdef enum:
    MIN_LIMIT = 64           # events that a range may find before the number of those held is asked


cdef int compare_arrivals(const void* a, const void* b) noexcept nogil:
    cdef uint64_t left = (<const ArrivalC*> a).sequence, right = (<const ArrivalC*> b).sequence
    return (left > right) - (left < right)


@cython.final
cdef class RangeProbe(Searchable):
    """The events of a range for which a condition holds, in the order they came. Where the range has more than an eighth
    of what is held, looking at everything costs no more.

    Args:
        held: the events searched.
        index: one of its indexes, by one number, which it keeps in order.
        bounds: of the range, as SortedRange takes them; they read other slots than this one.
        slot: where the condition reads the searched event.
        condition: the whole of it, the range included.
        scan: finds the same by looking at everything.
        calls_python: the condition does; what is held may change while it is looked through.
    """

    def __init__(self, HeldEvents held not None, EventIndex index not None, tuple bounds not None, int slot,
                 Executor condition not None, Searchable scan not None, bint calls_python=False):
        index.sort()
        self.held = held
        self.pool = held.window.pool
        self.index = index
        self.range = SortedRange(index.keys.types[0], bounds)
        self.slot = slot
        self.condition = condition
        self.scan = scan
        self.calls_python = calls_python

    def __dealloc__(self):
        PyMem_Free(self.arrivals)

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        cdef uint64_t low, high
        cdef bint any_in_range
        cdef Py_ssize_t i, before = found.size
        cdef const ExecC* test = &self.condition.c
        cdef EventC* event
        if self.held.stale:
            refresh_held(self.held, frame)
        any_in_range = self.range.find(NULL, frame, &low, &high)
        if self.held.tells:
            self.held.tell(frame)
        if not any_in_range:
            return 0
        if not self.collect(low, high, MIN_LIMIT + len(self.held) // 8):
            return self.scan.find(frame, found)
        for i in range(self.n):
            event = self.arrivals[i].event
            if not self.calls_python:
                frame.slots[self.slot] = event
                if test.fn(test, event, frame, NULL) != TRUE:
                    continue
            found_keep(found, self.pool, event)
        return keep_matching(self.pool, self.condition, self.slot, frame, found, before) if self.calls_python else 0

    cdef bint collect(self, uint64_t low, uint64_t high, Py_ssize_t limit) except -1:
        """Note the events of the range in the order they came; False where they are more than the limit."""
        cdef PlaceC place = self.index.order.place(low, False)
        cdef EntryC* entry
        cdef uint32_t number
        cdef Py_ssize_t capacity
        cdef ArrivalC* arrivals
        self.n = 0
        while True:
            entry = self.index.order.take(&place)
            if entry is NULL or entry.key > high:
                break
            number = self.index.lists[entry.slot].head
            while number != NO_SLOT:
                if self.n == limit:
                    return False
                if self.n == self.capacity:
                    capacity = max(16, 2 * self.capacity)
                    arrivals = <ArrivalC*> PyMem_Realloc(self.arrivals, capacity * sizeof(ArrivalC))
                    if arrivals is NULL:
                        raise MemoryError
                    self.arrivals = arrivals
                    self.capacity = capacity
                self.arrivals[self.n].sequence = self.index.entries[number].sequence
                self.arrivals[self.n].event = self.index.entries[number].event
                self.n += 1
                number = self.index.entries[number].next
        if self.n > 1:
            qsort(self.arrivals, self.n, sizeof(ArrivalC), compare_arrivals)
        return True
