# Ticks of a fixed period, as snapshots bring them back.

from libc.stdint cimport int64_t

from siddhi._core.context cimport AppContext, Timed
from siddhi._core.executor cimport now_ms
from siddhi._core.instant cimport EARLIEST

cdef enum:
    TICKS_IN_A_ROW = 1000          # of a step that has nothing to say; then it passes over the rest

cdef inline int64_t passed_over(int64_t due, int64_t now, int64_t period) noexcept:
    """Where a step that has nothing to say goes on: with the tick that is due, or the last one by now if that is far."""
    return due if due > now or (now - due) // period <= TICKS_IN_A_ROW else now - (now - due) % period

cdef inline int64_t next_tick(AppContext app, Timed step, int64_t due, int64_t period) noexcept:
    """Where a step that rested goes on, for the partition slot at work: with the first tick, of those every period from
    `due` on, that it would not have had yet. What wakes it may follow from a timer of a step in front of it: then its
    own tick at this instant is still to come."""
    cdef int64_t had = app.had_turns(step)
    return due if due > had else had + period - (had - due) % period

cdef inline int64_t restored_tick(AppContext app, int64_t due, int64_t period) except? -1:
    """A tick that a snapshot says is on its way. By the system's clock it is no further away than a period: that clock may
    have been set back since. In playback the clock was restored as well."""
    cdef int64_t now = now_ms(&app.frame)
    if due < EARLIEST:
        raise ValueError("snapshot is damaged: a tick is at no time")
    if not app.frame.playback and due - now > period:
        due -= (due - now - 1) // period * period
    return due
