"""The lock of an app.

Two apps whose callbacks send into each other may run in two threads: each thread holds the lock of its app and waits
for the lock of the other. Before a thread waits, it follows the chain of owners. If the chain ends with a lock of its
own, it borrows the lock instead of waiting. This is safe, as if the owner had sent the event itself: the owner waits in
a callback or function, where it could send. The owner can't continue before the borrower releases the lock at the end
of the chain, which was acquired earlier and is therefore released later than the borrowed one.

Borrowing does not help a callback that waits for a thread which needs the lock. That thread checks periodically whether
the owner waits for it to end, and then raises DeadlockError. The owner may also wait for a coroutine: for its result by a
future of ``run_coroutine_threadsafe``, so for the thread of its event loop, which needs the lock; or for a coroutine that
awaits the lock, which checks as well.
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
        if self.owners:
            self.owner, self.depth = self.owners.pop()
            if not self.owners:
                self.owners = None
            return
        self.real_held = False
        PyThread_release_lock(self.real)

    cdef int wait(self, unsigned long me) except -1:
        """Lock in a thread that has to queue, or that comes while a gate counts among the waiting; return 1 then."""
        # The first to wait takes the real lock in the owner's name; the owner's unlock then lets one waiter through.
        if self.depth > 0 and not self.real_held:
            PyThread_acquire_lock(self.real, 1)
            self.real_held = True
        if self.depth > 0 and self.waits_for_me(me):
            if self.owners is None:
                self.owners = []
            self.owners.append((self.owner, self.depth))
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
        return 1

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
    def is_taken(self):
        """Whether another thread holds the lock."""
        return self.depth > 0 and self.owner != PyThread_get_thread_ident()

    @property
    def is_borrowed(self):
        """The calling thread holds the lock: whether it is that of a thread that runs in the app and waits."""
        return bool(self.owners)

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
    """Raise where the owner of a lock waits, perhaps by way of others, for the calling thread; or for itself.

    No thread runs meanwhile, and what is looked for are waits without a time limit that nothing but the end of the thread
    or coroutine waited for can end. So what is found is a deadlock.
    """
    cdef dict frames = sys._current_frames()
    cdef list chain = []
    thread = lock.owner if lock.depth > 0 else None
    while thread is not None and thread != me and thread not in chain:
        chain.append(thread)
        thread = thread_needed_by(thread, frames)
    if thread is None or not chain or (thread != me and any([one in awaited for one in chain[chain.index(thread):]])):
        return 0                               # a thread of the circle gets the error itself
    names = {known.ident: known.name for known in threading.enumerate()}
    way = " waits for ".join([repr(names.get(one, one)) for one in [*chain, thread]])
    cause = "this thread to end" if thread == me else "what can never happen"
    raise DeadlockError(
        f"deadlock: thread {names.get(me, me)!r} needs the app, where a callback or function is running in thread "
        f"{names.get(chain[0], chain[0])!r} and waits for {cause} ({way}). Let the callback return without "
        "waiting for threads or event loops that use the app; see docs/threads.md")


def refuse_awaited(AppLock lock not None, task):
    """Raise where the thread that holds a lock waits for the result of a coroutine that waits for the lock.

    Args:
        task: the task of asyncio that waits.

    Raises:
        DeadlockError: it does, without a time limit.
    """
    cdef dict frames = sys._current_frames()
    cdef list chain = []
    thread = lock.owner if lock.depth > 0 else None
    while thread is not None and thread not in chain:
        chain.append(thread)
        future = future_waited_for(frames.get(thread))
        if future is not None and awaits(source_of(future), task):
            raise DeadlockError(
                "deadlock: a coroutine needs the app, where a callback or function is running that waits for the result of "
                "the coroutine. Let the callback return without waiting for event loops that use the app; see "
                "docs/threads.md")
        thread = thread_needed_by(thread, frames)


def waits_for_me(thread):
    """Return whether a thread waits without a time limit, perhaps by way of others, for the calling thread."""
    cdef dict frames = sys._current_frames()
    cdef unsigned long me = PyThread_get_thread_ident()
    cdef list chain = []
    while thread is not None and thread != me and thread not in chain:
        chain.append(thread)
        thread = thread_needed_by(thread, frames)
    return thread == me and len(chain) != 0


cdef object thread_needed_by(thread, dict frames):
    """The thread for which a thread waits: the owner of a lock, or one whose end it waits for; None: none is known."""
    cdef AppLock wanted = awaited.get(thread)
    if wanted is None:
        return thread_waited_for(frames.get(thread), frames)
    return wanted.owner if wanted.depth > 0 else None


cdef object thread_waited_for(frame, dict frames):
    """The thread whose end, or event loop, is all that a thread at this frame waits for, or None.

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
    future = future_waited_for(frame)
    return None if future is None else worker_of(future, frames)


cdef object future_waited_for(frame):
    """The future for whose result a thread at this frame waits without a time limit, or None."""
    futures = sys.modules.get("concurrent.futures._base")
    if frame is None or futures is None or frame.f_code is not threading.Condition.wait.__code__:
        return None
    frame = frame.f_back
    if frame is None or frame.f_code not in (futures.Future.result.__code__, futures.Future.exception.__code__):
        return None
    return frame.f_locals.get("self") if frame.f_locals.get("timeout") is None else None


cdef object worker_of(future, dict frames):
    """The thread of a pool, or that of an event loop, that computes the result of a future, or None."""
    pools = sys.modules.get("concurrent.futures.thread")
    loops = sys.modules.get("asyncio.base_events")
    source = source_of(future)
    for thread, at in frames.items():
        while at is not None:
            if pools is not None and at.f_code is pools._WorkItem.run.__code__:
                if at.f_locals.get("self").future is future:
                    return thread
            elif loops is not None and at.f_code is loops.BaseEventLoop.run_forever.__code__:
                loop = at.f_locals.get("self")
                if (loop is source.get_loop()) if source is not None else is_to_begin(future, loop):
                    return thread
            at = at.f_back
    return None


cdef object source_of(future):
    """The task whose result a future of ``asyncio.run_coroutine_threadsafe`` gets, or None; it has begun."""
    for callback in getattr(future, "_done_callbacks", ()):
        if getattr(callback, "__module__", None) == "asyncio.futures":
            source = enclosed(callback, "source")
            if source is not None:
                return source
    return None


cdef bint is_to_begin(future, loop) except -1:
    """Whether a loop is still to begin with the coroutine of a future."""
    for handle in list(loop._ready):
        callback = handle._callback
        if getattr(callback, "__module__", None) == "asyncio.tasks" and enclosed(callback, "future") is future:
            return True
    return False


cdef object enclosed(function, str name):
    """The value of a variable around an inner function, or None."""
    code = getattr(function, "__code__", None)
    if code is None or name not in code.co_freevars:
        return None
    try:
        return function.__closure__[code.co_freevars.index(name)].cell_contents
    except ValueError:                         # it is deleted
        return None


cdef bint awaits(task, awaited_one) except -1:
    """Whether a task is another one, or cannot go on before that one is done."""
    cdef list to_do = [task], seen = []
    while to_do:
        task = to_do.pop()
        if task is None or task in seen:
            continue
        if task is awaited_one:
            return True
        seen.append(task)
        to_do.append(getattr(task, "_fut_waiter", None))
        to_do.extend(getattr(task, "_children", ()))          # of asyncio.gather
    return False
