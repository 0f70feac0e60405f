# What all operators of one app share: frame, lock, clock and timers.
#
# Timers are a binary heap ordered by (due time, order of scheduling). They fire when the clock reaches them: in
# playback when an event moves it (advance), otherwise from the app's timer thread (fire_due). Checking costs one
# comparison. Where an event moves the clock over several, they all run at the new time: step by step in the order the
# steps were built (that of the text), those of one step in time order.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.event cimport EventC
from siddhi._core.executor cimport FrameC
from siddhi._core.lock cimport AppLock

cdef class Timed:
    cdef readonly unsigned long long rank        # order in which steps were built
    # `when` is the due time in ms; FrameC.partition is set to the slot the timer was scheduled for.
    cdef int on_timer(self, int64_t when) except -1
    # Give up what a failed chunk left behind; an exception may be set and stays so.
    cdef void abort(self) noexcept

cdef class FaultSink:
    # Where the failure of one event's processing is handled: the stream it was sent to.
    cdef int fault(self, object error, EventC* event) except -1

cdef struct TimerC:
    int64_t when
    uint64_t order
    void* target                   # a Timed, owned
    uint32_t partition

cdef class AppContext:
    cdef FrameC frame
    cdef readonly AppLock lock
    cdef readonly str name
    cdef public object on_error            # fn(exception, origin: str, events: list[Event])
    cdef public object wake                # fn(): the earliest due time moved forward (live mode)
    cdef readonly bint running
    cdef TimerC* timers
    cdef Py_ssize_t n_timers
    cdef Py_ssize_t timer_capacity
    cdef uint64_t timer_order
    cdef bint in_batch                     # rows of a batch are being sent: batch callbacks wait for its end
    cdef int hops                          # streams whose chunk is being delivered, one behind another
    cdef int batch_epoch                   # counts batches, see StreamJunction.choose_blocks
    cdef list batch_callbacks              # those that have something to deliver then
    cdef int schedule(self, Timed target, int64_t when, uint32_t partition) except -1
    cdef int fire(self, int64_t now) except -1
    cdef bint several_due(self, int64_t now) noexcept
    cdef TimerC take_first(self) noexcept
    cdef int fire_by_step(self, int64_t now) except -1
    cdef int run(self, TimerC timer) except -1
    cdef int report(self, object origin, object events) except -1   # handle the exception that is set

cdef inline int advance(AppContext app, int64_t timestamp) except -1:
    """Playback: move the clock forward (never back) and fire what is due."""
    if timestamp > app.frame.clock:
        app.frame.clock = timestamp
    if app.n_timers and app.timers[0].when <= app.frame.clock:
        app.fire(app.frame.clock)
    return 0

cdef int leave() except -1         # propagate the exception that is set
