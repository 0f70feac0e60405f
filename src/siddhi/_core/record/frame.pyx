"""Clocks, and conversion between cells and Python objects."""

from cpython.float cimport PyFloat_AsDouble

import operator
from time import monotonic_ns

from siddhi._core.record.event cimport BOOL, DOUBLE, FLOAT, INT, LONG, OBJECT, STRING
from siddhi.errors import shown

cdef extern from "time.h" nogil:
    ctypedef long time_t
    struct timespec:
        time_t tv_sec
        long tv_nsec
    int timespec_get(timespec* ts, int base)
    int TIME_UTC


cdef extern from "siddhi/single.h":
    double siddhi_shortest_double(float value)


cdef object index_of = operator.index      # C's conversion would truncate a float


cdef enum:
    NOT_SET = -1

cdef int64_t system_set_to = NOT_SET       # by set_system_clock()
cdef int64_t monotonic_set_to = NOT_SET


def set_system_clock(time_ms, monotonic_ms=None):
    """Stop the clocks of the system at given times, for all apps of the process. For tests.

    Args:
        time_ms: time of the system's clock, ms since 1970; None: use the system's clocks again.
        monotonic_ms: time of its monotonic clock, ms; None: use the system's.
    """
    global system_set_to, monotonic_set_to
    system_set_to = NOT_SET if time_ms is None else time_ms
    monotonic_set_to = NOT_SET if time_ms is None or monotonic_ms is None else monotonic_ms


cdef int64_t system_ms() noexcept:
    cdef timespec ts
    if system_set_to != NOT_SET:
        return system_set_to
    timespec_get(&ts, TIME_UTC)
    return <int64_t> ts.tv_sec * 1000 + ts.tv_nsec // 1000000


cdef int64_t live_ms(FrameC* f) noexcept:
    cdef int64_t now = system_ms()
    if now >= f.clock and f.slowed.since == 0:
        f.clock = now
        return now
    return slowed_ms(f, now)


cdef int64_t slowed_ms(FrameC* f, int64_t now) noexcept:
    """Return the app's clock while the system's clock (`now`) shows an earlier time.

    It runs at nine tenths of real time: a timer of nine seconds takes ten, and after ten hours the system's clock has
    caught up one hour.
    """
    cdef int64_t passed = monotonic_set_to if monotonic_set_to != NOT_SET else <int64_t> (monotonic_ns() // 1_000_000)
    cdef int64_t slow
    if f.slowed.since == 0:
        f.slowed.since = max(1, passed)
        f.slowed.start = f.clock
    slow = f.slowed.start + (passed - f.slowed.since) * 9 // 10
    if now >= max(slow, f.clock):
        f.slowed.since = 0
        slow = now
    f.clock = max(slow, f.clock)
    return f.clock


cdef object box(int status, int type, const CellC* value):
    """Return a result as a Python object."""
    if status == NULL_VALUE:
        return None
    if type == BOOL:
        return status == TRUE
    if type == STRING or type == OBJECT:
        return <object> value.o
    if type == DOUBLE:
        return value.d
    if type == LONG:
        return value.l
    if type == INT:
        return value.i
    return siddhi_shortest_double(value.f)


cdef int unbox(object value, int type, CellC* out) except -1:
    """Write a Python object into a cell, without INCREF. Raise OverflowError or TypeError if it does not fit."""
    if type == STRING:
        if not isinstance(value, str):
            raise TypeError(f"expected a string, got {shown(value)}")
        out.o = <void*> value
    elif type == OBJECT:
        out.o = <void*> value
    elif type == DOUBLE:
        out.d = PyFloat_AsDouble(value)
    elif type == FLOAT:
        out.f = <float> PyFloat_AsDouble(value)
    elif type == LONG:
        out.l = index_of(value)
    elif type == INT:
        out.i = index_of(value)
    else:
        out.i = 1 if value else 0
    return 0
