"""The lock of an app.

Two apps whose callbacks send into each other may be at work in two threads at once: each thread holds the lock of its
app, and asks for that of the other. A thread that finds that the one it would wait for waits, at the end of the chain,
for a lock that it holds itself borrows the lock instead. That is as if the owner had sent once more from where it
stands: it waits inside a callback or function of users, from where it might do so itself. It stands there until the
borrower has given up the lock the chain ends with, which it took before, and so gives up later than the borrowed one.
"""

# Which lock a thread waits for, by thread. Guarded by the interpreter lock, as are the fields of all locks.
cdef dict awaited = {}


cdef class AppLock:
    """Re-entrant; a context manager for Python code."""

    def __cinit__(self):
        self.real = PyThread_allocate_lock()
        if self.real is NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.real is not NULL:
            PyThread_free_lock(self.real)

    cdef bint waits_for_me(self, unsigned long me) except -1:
        """Whether the owner waits for a thread that waits, and so on, for one whose lock this thread holds."""
        cdef AppLock lock = self
        cdef Py_ssize_t steps = 0
        while lock is not None and lock.depth > 0 and steps <= len(awaited):
            if lock.owner == me:
                return True
            lock = awaited.get(lock.owner)
            steps += 1
        return False

    cdef void hand_over(self) noexcept:
        """The owner is done: the lock goes back to whom it was borrowed from, or to one who waits."""
        if self.lent:
            self.owner, self.depth = self.lent.pop()
            if not self.lent:
                self.lent = None
            return
        self.real_held = False
        PyThread_release_lock(self.real)

    cdef int wait(self, unsigned long me) except -1:
        # The first to wait takes the real lock in the owner's name; the owner's unlock then lets one waiter through.
        if not self.real_held and self.waiting == 0:
            PyThread_acquire_lock(self.real, 1)
            self.real_held = True
        if self.depth > 0 and self.waits_for_me(me):
            if self.lent is None:
                self.lent = []
            self.lent.append((self.owner, self.depth))
            self.owner = me
            self.depth = 1
            return 0
        awaited[me] = self
        self.waiting += 1
        with nogil:
            PyThread_acquire_lock(self.real, 1)
        del awaited[me]
        self.waiting -= 1
        self.real_held = True
        self.owner = me
        self.depth = 1
        return 0

    @property
    def is_mine(self):
        """Whether the calling thread holds the lock: it must not wait for threads that need it."""
        return self.depth > 0 and self.owner == PyThread_get_thread_ident()

    @property
    def is_borrowed(self):
        """The calling thread holds the lock: whether it is that of a thread that is at work in the app and waits."""
        return bool(self.lent)

    def __enter__(self):
        lock_app(self)
        return self

    def __exit__(self, *unused):
        unlock_app(self)
