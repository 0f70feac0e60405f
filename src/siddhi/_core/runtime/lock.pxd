# The lock of an app: re-entrant, and nearly free while one thread uses it. Its fields are guarded by the interpreter
# lock; only a thread that must wait touches the operating system's lock.

cdef extern from "pythread.h":
    ctypedef void* PyThread_type_lock
    unsigned long PyThread_get_thread_ident()
    PyThread_type_lock PyThread_allocate_lock()
    void PyThread_free_lock(PyThread_type_lock lock)
    int PyThread_acquire_lock(PyThread_type_lock lock, int wait) nogil
    void PyThread_release_lock(PyThread_type_lock lock)

cdef class AppLock:
    cdef PyThread_type_lock real
    cdef unsigned long owner
    cdef int depth                 # how often the owner holds it
    cdef int waiting               # threads queueing
    cdef bint real_held
    cdef unsigned long long turns  # how often a thread that queued got the lock
    cdef list owners               # (owner, depth) of each thread it is borrowed from, the latest one last
    cdef int wait(self, unsigned long me) except -1
    cdef bint waits_for_me(self, unsigned long me) except -1
    cdef int give_turn(self) except -1
    cdef void hand_over(self) noexcept

cdef int let_threads_run() noexcept

cdef inline int lock_app(AppLock lock) except -1:
    cdef unsigned long me = PyThread_get_thread_ident()
    if lock.depth == 0:
        if lock.waiting == 0:
            lock.owner = me
            lock.depth = 1
            return 0
    elif lock.owner == me:
        lock.depth += 1
        return 0
    return lock.wait(me)

cdef inline void unlock_app(AppLock lock) noexcept:
    lock.depth -= 1
    if lock.depth == 0 and lock.real_held:
        lock.hand_over()

# --- Whether work under an app's lock stands inside other work of the app, whose frame must be found as it was.
cdef inline bint is_nested(AppLock lock):
    """The lock is held: whether more than once, or borrowed from a thread that runs in the app, too."""
    return lock.depth > 1 or lock.owners is not None
