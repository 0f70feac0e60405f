"""Views of partial matches, and the list that an attribute of a counting state is."""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from siddhi._core.event cimport OBJECT, Layout, cell_to_python
from siddhi._core.executor cimport ExecC, FrameC, eval_fn
from siddhi._core.executor_function_object cimport ObjectExecutor, lend, new_object_executor
from siddhi._core.pattern_match cimport CollectedC, collected_of


@cython.final
cdef class PatternView:
    """What the expressions of one place see of a partial match.

    Args:
        n_slots: slots of the pattern.
        picks: for each event named by index (slot, offset, from_last, counting); it is found in slot ``n_slots + i``.
        own: the counting slot that the expressions decide about, else -1. There the event at hand follows those
            collected where it is named by number; ``last`` is the last one before it.
    """

    def __cinit__(self, int n_slots, picks, int own=-1):
        cdef int i
        self.n_slots = n_slots
        self.n_picks = len(picks)
        self.own = own
        self.picks = <PickC*> PyMem_Malloc(max(1, self.n_picks) * sizeof(PickC))
        self.events = <EventC**> PyMem_Malloc((n_slots + self.n_picks) * sizeof(void*))
        if self.picks is NULL or self.events is NULL:
            raise MemoryError
        for i in range(self.n_picks):
            (self.picks[i].slot, self.picks[i].offset, self.picks[i].from_last, self.picks[i].counting) = picks[i]
            if self.picks[i].slot == own and not self.picks[i].from_last:
                self.uses_current = True

    def __dealloc__(self):
        PyMem_Free(self.picks)
        PyMem_Free(self.events)

    cdef EventC** show(self, PartialC* partial, EventC* current) noexcept:
        """The events by slot; valid until the next call."""
        cdef int i
        cdef PickC* pick
        cdef CollectedC* collected
        cdef int32_t size, at
        if self.n_picks == 0:
            return partial.slots
        memcpy(self.events, partial.slots, self.n_slots * sizeof(void*))
        for i in range(self.n_picks):
            pick = &self.picks[i]
            self.events[self.n_slots + i] = NULL
            if not pick.counting:
                if pick.offset == 0:
                    self.events[self.n_slots + i] = partial.slots[pick.slot]
                continue
            collected = collected_of(partial, pick.slot)
            size = 0 if collected is NULL else <int32_t> collected.size
            at = size - 1 - pick.offset if pick.from_last else pick.offset
            if 0 <= at < size:
                self.events[self.n_slots + i] = collected.events[at]
            elif at == size and pick.slot == self.own:
                self.events[self.n_slots + i] = current
        return self.events


cdef int collected_values(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef CollectedC* collected = <CollectedC*> f.slots[x.slot]
    cdef list values = []
    cdef uint32_t i
    if collected is not NULL:
        for i in range(collected.size):
            values.append(cell_to_python(collected.events[i], x.word, x.bit, x.cell, <int> x.value.i))
    return lend(x, values, out)


def make_collected(Layout layout not None, int position, int slot):
    """The values of an attribute in all events of a counting slot, as a list; empty where there is none."""
    cdef ObjectExecutor executor = new_object_executor(<eval_fn> collected_values, OBJECT, (), "collected list")
    executor.c.slot = slot
    executor.c.cell = layout.words + position
    executor.c.word = position >> 6
    executor.c.bit = (<uint64_t> 1) << (position & 63)
    executor.c.value.i = layout.codes[position]
    return executor
