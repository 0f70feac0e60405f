"""The gate of an app: senders from outside wait there while readers of the app's output are behind.

Readers have bounded buffers. A sender cannot wait for room while it holds the app's lock, since a reader may need that lock
to go on. So it waits before it takes the lock, and what one send emits is taken as a whole, even beyond the bound.
"""

import sys

from siddhi._core.runtime.lock import refuse_awaited
from siddhi.errors import DeadlockError

cdef double LOOK_S = 0.05
cdef double POLL_S = 0.001

cdef enum:
    FIRST_LOOK = 50                # polls before a coroutine looks whether it is waited for, and between two later looks
    LATER_LOOK = 500

# Gates by the context of their app. An app without readers has none.
cdef dict gate_of = {}


class OwnLoopError(DeadlockError):
    """A sender would block the event loop that runs the reader it waits for; nothing was sent. A coroutine can wait."""


cdef class Gate:
    """Base of :class:`siddhi.runtime.readers.backpressure.Backpressure`, which knows the buffers.

    Called here are its methods ``is_shut_for_me()``, ``wait(seconds)`` and ``room()``, and by buffers ``notify()``.
    """

    def __dealloc__(self):
        if self.shut_:
            gates.shut -= 1

    cdef void shut(self) noexcept:
        if not self.shut_:
            self.shut_ = True
            gates.shut += 1
            if self.app is not None:
                self.app.lock.waiting += 1

    cdef void open(self) noexcept:
        if self.shut_:
            self.shut_ = False
            gates.shut -= 1
            if self.app is not None:
                self.app.lock.waiting -= 1

    @property
    def is_shut(self):
        """Whether a buffer may be full."""
        return self.shut_

    def set_shut(self, bint shut):
        """Note whether a buffer may be full."""
        if shut:
            self.shut()
        else:
            self.open()

    def guard(self, AppContext app not None):
        """Hold back the senders of an app, and no longer those of the app before it."""
        self.release()
        self.app = app
        gate_of[app] = self
        if self.shut_:
            app.lock.waiting += 1

    def release(self):
        """Hold back no sender any more."""
        app, self.app = self.app, None
        if app is not None:
            del gate_of[app]
            if self.shut_:
                (<AppContext> app).lock.waiting -= 1


def hold(AppContext app not None, seconds):
    """Wait at the gate of an app, in a thread that does not hold its lock.

    Args:
        seconds: how long at most.

    Returns:
        Whether the gate is open.
    """
    return gates.shut == 0 or pass_gate(app, seconds)


cdef bint pass_gate(AppContext app, object seconds) except -1:
    gate = gate_of.get(app)
    return gate is None or gate.wait(seconds)


cdef bint is_shut_for_me(AppContext app) except -1:
    gate = gate_of.get(app)
    return gate is not None and gate.is_shut_for_me()


cdef object longest_wait():
    asyncio = sys.modules.get("asyncio")
    return None if asyncio is None or asyncio._get_running_loop() is None else LOOK_S


async def send_when_open(context, send, arguments):
    """Wait, without blocking the event loop, until the gate of an app is open and no other thread is in the app; then send.

    Args:
        context: returns the context of the app, which a restart replaces.
        send: called with the arguments, again where another thread has shut the gate meanwhile.
    """
    cdef AppContext app
    while True:
        app = context()
        if gates.shut:
            gate = gate_of.get(app)
            if gate is not None:
                await gate.room()
        if app.lock.is_taken:
            await lock_release(app)
            continue
        try:
            send(*arguments)
        except OwnLoopError:
            continue
        return


async def lock_release(AppContext app):
    """Wait until no other thread is in an app. One may be in a callback for long.

    Raises:
        DeadlockError: it waits for the calling task there.
    """
    import asyncio
    cdef int looks = 0
    while app.lock.is_taken:
        await asyncio.sleep(POLL_S if looks else 0)
        looks += 1
        if looks == FIRST_LOOK or looks % LATER_LOOK == 0:
            refuse_awaited(app.lock, asyncio.current_task())
