# Where senders from outside wait while readers of the app's output are behind.
#
# A gate that is shut counts as a thread that waits for the app's lock. So a thread that takes that lock leaves the fast
# path, and an open gate costs senders nothing.
#
# Fields are guarded by the interpreter lock: what changes them runs no Python code in between.

from siddhi._core.runtime.context cimport AppContext

cdef struct GatesC:
    int shut                       # number of gates that may be shut; 0: a sender looks no further

cdef GatesC gates

cdef class Gate:
    cdef AppContext app            # None: it holds nothing back
    cdef bint shut_                # perhaps: a buffer was full when it was last looked at
    cdef void shut(self) noexcept
    cdef void open(self) noexcept

# Wait until the gate of an app is open, or for some seconds (None: without a limit); return whether it is open. The caller
# does not hold the app's lock.
cdef bint pass_gate(AppContext app, object seconds) except -1
# Whether the gate of an app is shut for the calling thread, which has to wait without the app's lock.
cdef bint is_shut_for_me(AppContext app) except -1

# Seconds after which a thread that waits for room looks whether its own event loop keeps a gate shut; None: it has none.
cdef object longest_wait()
