"""Looking through the content of a window."""

cimport cython
from libc.stdint cimport uint32_t

from siddhi._core.event cimport EventC
from siddhi._core.executor cimport TRUE, FrameC
from siddhi._core.searchable cimport FoundC


@cython.final
cdef class WindowScan(Searchable):
    """The events of a window for which a condition holds, in the order the window shows them.

    Args:
        window: it must be searchable.
        slot: where the condition reads the window's event.
        condition: over event slots; None: every event matches.
        shared: the window has one content for all partition keys.
        tells: the window wants to know when its content is looked at.
    """

    def __init__(self, Window window not None, int slot, Executor condition=None, bint shared=False,
                 bint tells=False):
        if not window.is_searchable:
            raise TypeError(f"{type(window).__name__} can't be searched")
        self.window = window
        self.slot = slot
        self.condition = condition
        self.shared = shared
        self.tells = tells

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        cdef Window window = self.window
        cdef uint32_t partition = 0 if self.shared else frame.partition
        cdef Py_ssize_t i, kept = found.size
        cdef EventC* event
        if partition >= window.capacity or window.states[partition] is NULL:
            return 0
        window.content(window.states[partition], found)
        if self.tells:
            window.content(window.states[partition], NULL)
        if self.condition is None:
            return 0
        for i in range(kept, found.size):
            event = found.events[i]
            frame.slots[self.slot] = event
            if self.condition.c.fn(&self.condition.c, event, frame, NULL) == TRUE:
                found.events[kept] = event
                kept += 1
        found.size = kept
        return 0
