"""The lock of an app."""


cdef class AppLock:
    """Re-entrant; a context manager for Python code."""

    def __cinit__(self):
        self.real = PyThread_allocate_lock()
        if self.real is NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.real is not NULL:
            PyThread_free_lock(self.real)

    cdef int wait(self, unsigned long me) except -1:
        # The first to wait takes the real lock in the owner's name; the owner's unlock then lets one waiter through.
        if not self.real_held and self.waiting == 0:
            PyThread_acquire_lock(self.real, 1)
            self.real_held = True
        self.waiting += 1
        with nogil:
            PyThread_acquire_lock(self.real, 1)
        self.waiting -= 1
        self.real_held = True
        self.owner = me
        self.depth = 1
        return 0

    @property
    def is_mine(self):
        """Whether the calling thread holds the lock: it must not wait for threads that need it."""
        return self.depth > 0 and self.owner == PyThread_get_thread_ident()

    def __enter__(self):
        lock_app(self)
        return self

    def __exit__(self, *unused):
        unlock_app(self)
