"""Looking through the content of a window."""

cimport cython
from libc.stdint cimport uint32_t

from siddhi._core.event cimport EventC, release, retain
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
        calls_python: the condition does; the window's content may change while it is looked through.
    """

    def __init__(self, Window window not None, int slot, Executor condition=None, bint shared=False,
                 bint tells=False, bint calls_python=False):
        if not window.is_searchable:
            raise TypeError(f"{type(window).__name__} can't be searched")
        self.window = window
        self.pool = window.pool
        self.slot = slot
        self.condition = condition
        self.shared = shared
        self.tells = tells
        self.calls_python = calls_python

    cdef int find(self, FrameC* frame, FoundC* found) except -1:
        cdef Window window = self.window
        cdef uint32_t partition = 0 if self.shared else frame.partition
        cdef Py_ssize_t i, kept = found.size
        if partition >= window.capacity or window.states[partition] is NULL:
            return 0
        window.content(window.states[partition], found)
        if self.tells:
            window.content(window.states[partition], NULL)
        if self.condition is None or self.calls_python:
            for i in range(kept, found.size):
                retain(self.pool, found.events[i])
        if self.condition is not None:
            self.select(frame, found, kept)
        return 0

    cdef int select(self, FrameC* frame, FoundC* found, Py_ssize_t kept) except -1:
        """Keep those from `kept` on for which the condition holds."""
        cdef Py_ssize_t i = kept, n = found.size
        cdef bint passed
        cdef EventC* event
        found.size = kept
        try:
            while i < n:
                event = found.events[i]
                frame.slots[self.slot] = event
                passed = self.condition.c.fn(&self.condition.c, event, frame, NULL) == TRUE
                i += 1
                if passed:
                    found.events[found.size] = event
                    found.size += 1
                    if not self.calls_python:
                        retain(self.pool, event)
                elif self.calls_python:
                    release(self.pool, event)
        finally:
            while self.calls_python and i < n:
                release(self.pool, found.events[i])
                i += 1
        return 0
