"""The gate that keeps calls which use the operators of an app apart from their exchange."""

from cpython.mem cimport PyMem_Free, PyMem_Realloc

from siddhi._core.runtime.lock cimport PyThread_get_thread_ident

import threading
from contextlib import contextmanager


cdef struct PassingC:
    long long thread
    Py_ssize_t depth               # how often the thread has entered


cdef class ChangeGate:
    """Calls that read or change the state of an app pass the gate; while the operators are exchanged, it is closed.

    Without it, a call that waits for the app's lock during the exchange would continue with operators that no event reaches.
    A ``with`` statement passes it: it notes the thread first and looks whether the gate is closed then, so that an open gate
    takes no lock.

    Args:
        is_inside: whether the calling thread is processing an event of the app. Such a thread holds the app's lock, so that
            no exchange can take place; it passes a closed gate.
    """

    cdef object is_inside
    cdef object changed            # a condition
    cdef PassingC* passing         # the threads that are passing; guarded by the interpreter lock
    cdef Py_ssize_t n
    cdef Py_ssize_t capacity
    cdef long long closed_by       # the thread; -1: open

    def __init__(self, is_inside):
        self.is_inside = is_inside
        self.changed = threading.Condition()
        self.closed_by = -1

    def __dealloc__(self):
        PyMem_Free(self.passing)

    def __enter__(self):
        cdef long long me = <long long> PyThread_get_thread_ident()
        if self.note(me) and self.closed_by != -1 and me != self.closed_by and not self.is_inside():
            self.wait(me)

    def __exit__(self, kind, error, traceback):
        if self.leave(<long long> PyThread_get_thread_ident()) and self.closed_by != -1:
            with self.changed:
                self.changed.notify_all()

    cdef bint note(self, long long thread) except -1:
        """Count a thread in; return whether it was not passing before."""
        cdef Py_ssize_t i
        cdef PassingC* passing
        for i in range(self.n):
            if self.passing[i].thread == thread:
                self.passing[i].depth += 1
                return False
        if self.n == self.capacity:
            passing = <PassingC*> PyMem_Realloc(self.passing, (2 * self.capacity + 4) * sizeof(PassingC))
            if passing is NULL:
                raise MemoryError
            self.passing = passing
            self.capacity = 2 * self.capacity + 4
        self.passing[self.n].thread = thread
        self.passing[self.n].depth = 1
        self.n += 1
        return True

    cdef bint leave(self, long long thread) noexcept:
        """Count a thread out; return whether it is not passing any more."""
        cdef Py_ssize_t i
        for i in range(self.n):
            if self.passing[i].thread == thread:
                self.passing[i].depth -= 1
                if self.passing[i].depth:
                    return False
                self.n -= 1
                self.passing[i] = self.passing[self.n]
                return True
        return False

    cdef int wait(self, long long thread) except -1:
        with self.changed:
            self.leave(thread)
            self.changed.notify_all()
            while self.closed_by != -1:
                self.changed.wait()
            self.note(thread)
        return 0

    @contextmanager
    def closed(self):
        """Close the gate until the block ends, once those that are passing it have left; by one thread at a time."""
        with self.changed:
            self.closed_by = <long long> PyThread_get_thread_ident()
            while self.n:
                self.changed.wait()
        try:
            yield
        finally:
            with self.changed:
                self.closed_by = -1
                self.changed.notify_all()
