"""The lock of an app.

Two apps whose callbacks send into each other may run in two threads: each thread holds the lock of its app and waits
for the lock of the other. Before a thread waits, it follows the chain of owners. If the chain ends with a lock of its
own, it borrows the lock instead of waiting. This is safe, as if the owner had sent the event itself: the owner waits in
a callback or function, where it could send. The owner can't continue before the borrower releases the lock at the end
of the chain, which was acquired earlier and is therefore released later than the borrowed one.

Borrowing does not help a callback that waits for a thread which needs the lock. That thread checks periodically whether
the owner waits for it to end, and then raises DeadlockError.
"""

import sys
import threading
from time import sleep

from siddhi.errors import DeadlockError

cdef extern from "pythread.h":
    int PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int intr) nogil

cdef extern from "Python.h":
    ctypedef struct PyThreadState:
        pass
    int PyErr_CheckSignals() except -1
    PyThreadState* PyEval_SaveThread()
    void PyEval_RestoreThread(PyThreadState* state)

cdef enum:
    ACQUIRED = 1                   # of PyLockStatus
    TURN_LOOKS = 100               # at most, for the thread whose turn it is
    FIRST_LOOK_US = 50_000
    LAST_LOOK_US = 1_000_000

cdef double LOOK_S = 0.0001

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
        cdef long long patience = FIRST_LOOK_US
        cdef int status
        awaited[me] = self
        self.waiting += 1
        try:
            while True:
                with nogil:
                    status = PyThread_acquire_lock_timed(self.real, patience, 0)
                if status == ACQUIRED:
                    break
                PyErr_CheckSignals()           # what the owner does may take long, and Ctrl-C is the main thread's
                refuse_deadlock(self, me)
                patience = min(2 * patience, <long long> LAST_LOOK_US)
        finally:
            del awaited[me]
            self.waiting -= 1
        self.real_held = True
        self.owner = me
        self.depth = 1
        self.turns += 1
        return 0

    cdef int give_turn(self) except -1:
        """Let other threads run, and one that queues for the lock have it; the calling thread does not hold it.

        A thread that unlocks and locks again is faster than one that has to wake up, so it waits until that one has the
        lock. Not for long: a queueing thread may be busy with a signal.
        """
        cdef unsigned long long turns = self.turns
        cdef int looks = 0
        let_threads_run()
        while self.waiting and self.turns == turns and looks < TURN_LOOKS:
            sleep(LOOK_S)
            looks += 1
        return 0

    @property
    def is_mine(self):
        """Whether the calling thread holds the lock: it must not wait for threads that need it."""
        return self.depth > 0 and self.owner == PyThread_get_thread_ident()

    @property
    def is_borrowed(self):
        """The calling thread holds the lock: whether it is that of a thread that runs in the app and waits."""
        return bool(self.lent)

    def __enter__(self):
        lock_app(self)
        return self

    # Three arguments: a tuple of them would be allocated, and the lock would stay locked if memory ran out.
    def __exit__(self, kind, error, traceback):
        unlock_app(self)


cdef int let_threads_run() noexcept:
    """Release the interpreter lock once: Python switches threads between instructions of Python code only."""
    PyEval_RestoreThread(PyEval_SaveThread())
    return 0


cdef int refuse_deadlock(AppLock lock, unsigned long me) except -1:
    """Raise where the owner of a lock waits, perhaps by way of others, for the calling thread to end.

    No thread runs meanwhile, and what is looked for are waits without a time limit that nothing but the end of the thread
    waited for can end. So what is found is a deadlock.
    """
    cdef dict frames = sys._current_frames()
    cdef list chain = []
    cdef AppLock wanted
    thread = lock.owner if lock.depth > 0 else None
    while thread is not None and thread != me and thread not in chain:
        chain.append(thread)
        wanted = awaited.get(thread)
        if wanted is None:
            thread = thread_waited_for(frames.get(thread), frames)
        else:
            thread = wanted.owner if wanted.depth > 0 else None
    if thread != me or not chain:
        return 0
    names = {known.ident: known.name for known in threading.enumerate()}
    way = " waits for ".join([repr(names.get(one, one)) for one in [*chain, me]])
    raise DeadlockError(
        f"deadlock: thread {names.get(me, me)!r} needs the app, where a callback or function is running in thread "
        f"{names.get(chain[0], chain[0])!r} and waits for this thread to end ({way}). Let the callback return without "
        "waiting for threads that use the app; see docs/threads.md")


cdef object thread_waited_for(frame, dict frames):
    """The thread whose end is all that a thread at this frame waits for, or None.

    Args:
        frame: the innermost one of the thread; None: it has none.
        frames: those of all threads.
    """
    if frame is None:
        return None
    inner = getattr(threading.Thread, "_wait_for_tstate_lock", None)        # until Python 3.12
    if inner is not None and frame.f_code is inner.__code__:
        frame = frame.f_back
    if frame.f_code is threading.Thread.join.__code__:
        thread, timeout = frame.f_locals.get("self"), frame.f_locals.get("timeout")
        return thread.ident if timeout is None and thread.is_alive() else None
    if frame.f_code is threading.Condition.wait.__code__:
        return worker_of(frame.f_back, frames)
    return None


cdef object worker_of(frame, dict frames):
    """The thread of a pool that computes the result which is waited for at a frame, or None."""
    futures, pools = sys.modules.get("concurrent.futures._base"), sys.modules.get("concurrent.futures.thread")
    if futures is None or pools is None or frame.f_code not in (
            futures.Future.result.__code__, futures.Future.exception.__code__):
        return None
    future, timeout = frame.f_locals.get("self"), frame.f_locals.get("timeout")
    if timeout is not None:
        return None
    for thread, at in frames.items():
        while at is not None:
            if at.f_code is pools._WorkItem.run.__code__ and at.f_locals.get("self").future is future:
                return thread
            at = at.f_back
    return None
