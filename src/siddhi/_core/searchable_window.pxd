# Looking through the content of a window, event by event: the way that always works.

from siddhi._core.executor cimport Executor, FrameC
from siddhi._core.searchable cimport FoundC, Searchable
from siddhi._core.window cimport Window

cdef class WindowScan(Searchable):
    cdef Window window
    cdef Executor condition        # None: everything matches
    cdef bint shared               # a named window: one content for all partition keys
    cdef bint tells                # the window wants to know when its content is looked at
    cdef bint calls_python         # the condition does
    cdef int select(self, FrameC* frame, FoundC* found, Py_ssize_t kept) except -1
