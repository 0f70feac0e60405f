# Whether work under an app's lock stands inside other work of the app, whose frame must be found as it was.

from siddhi._core.lock cimport AppLock

cdef inline bint is_nested(AppLock lock):
    """The lock is held: whether more than once, or borrowed from a thread that is at work in the app, too."""
    return lock.depth > 1 or lock.lent is not None
