# What all operators of one app share: frame, lock, clock and timers.
#
# Timers are a binary heap ordered by (due time, step, partition id, order of scheduling). They fire when the clock
# reaches them: in playback when an event moves it (advance), otherwise from the app's timer thread (fire_due). Checking
# costs one comparison. Where an event moves the clock over several, they all run at the new time: step by step in the
# order the steps were built (that of the text), those of one step in time order. With exact timers each runs at its own
# time instead, before the clock moves on: by time, then by step.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.record.event cimport EventC
from siddhi._core.record.frame cimport FrameC, now_ms
from siddhi._core.record.instant cimport EARLIEST, INT64_MAX, later
from siddhi._core.runtime.lock cimport AppLock

#
# What an event leads to is processed inside one another, send in send: `depth` counts them. Where that does not end, or
# not before the stack does, the innermost send raises RecursionError, and everything up to the outermost one fails with
# it: the event that began it is given to the error handling of its stream, once.

cdef enum:
    UNCHECKED_DEPTH = 32                   # nested sends before each of them checks the stack
    MAX_DEPTH = 10_000                     # nested sends

cdef class Timed:
    cdef readonly unsigned long long rank        # order in which steps were built
    # `when` is the due time in ms; FrameC.partition is set to the id the timer was scheduled for.
    cdef int on_timer(self, int64_t when) except -1
    # Discard what a failed chunk left behind; an exception may be set and stays set.
    cdef void abort(self) noexcept
    # The timers of a partition id have nothing to emit as long as no event comes.
    cdef bint is_idle(self, uint32_t partition) noexcept

cdef class FaultSink:
    # Where the failure of one event's processing is handled: the stream it was sent to.
    cdef int fault(self, object error, EventC* event) except -1

cdef struct TimerC:
    int64_t when
    uint64_t order
    void* target                   # a Timed, owned
    uint32_t partition

cdef struct ClockMoveC:            # progress of the timers that one move of the playback clock makes due
    int64_t since                  # the clock before the move
    int64_t goal                   # the clock after it
    unsigned long long rank        # of the last step in order whose timer has fired, 0: none
    int64_t when                   # its last timer: due time and partition id
    uint32_t partition

cdef class OperationMeter:         # of single operations (a search, a change of a table); a disabled meter costs one test
    cdef readonly bint on
    cdef readonly int64_t operations       # number of inserts, changes and searches
    cdef readonly int64_t nanoseconds      # total time
    cdef readonly int64_t slowest          # longest time of one call, ns
    cdef int64_t begin(self) except? -1
    cdef int end(self, int64_t start, int64_t operations) except -1

cdef class AppContext:
    cdef FrameC frame
    cdef readonly AppLock lock
    cdef readonly str name
    cdef public object on_error                    # fn(exception, origin: str, events: list[Event])
    cdef public object wake                        # fn(): the earliest due time has moved forward (live mode)
    cdef public unsigned long long timer_errors    # errors that a clock thread has survived
    cdef readonly bint running
    cdef TimerC* timers
    cdef Py_ssize_t n_timers
    cdef Py_ssize_t timer_capacity
    cdef uint64_t timer_order
    cdef ClockMoveC clock_move
    cdef readonly bint exact               # playback: a timer runs at its own time, not at that of the next event
    cdef bint in_batch                     # rows of a batch are being sent: batch callbacks wait for its end
    cdef object interrupt                  # a deferred KeyboardInterrupt, see defer_interrupt()
    cdef unsigned long long wiring         # counts changes of what operators answered in bind_blocks()
    cdef int binding                       # streams that are being bound, each fed by the one before
    cdef list batch_callbacks              # those with output to deliver at the end of the batch
    cdef int depth                         # nested sends
    cdef int depth_limit                   # each deeper send calls check_depth(); 0: the next outermost one does, too
    cdef bint depth_exceeded               # limit exceeded: every send fails until the outermost one has ended
    cdef bint closed                       # shut down: no more timers
    cdef public int64_t most_ticks         # of one periodic timer in one move of the clock, see left_out()
    cdef unsigned int n_fired
    cdef int64_t reported_goal                   # the clock move for which skipped ticks were logged
    cdef readonly dict meters                    # (kind, name, operation) -> OperationMeter
    cdef readonly bint measuring
    cdef list retired                      # junctions to clean up when no delivery is running
    cdef int check_depth(self, str stream) except -1
    cdef bint has_room(self) except -1                      # stack for a block to be processed further
    cdef bint passes_on(self, object error) except -1       # an outer send has to handle it
    cdef int reset_depth(self) except -1
    cdef int schedule(self, Timed target, int64_t when, uint32_t partition) except -1
    # The time up to which timers of a step at the current partition id would have fired.
    cdef int64_t had_turns(self, Timed step) noexcept
    cdef void take_turn(self, const TimerC* timer) noexcept
    cdef int fire(self, int64_t now, int64_t since) except -1
    cdef int advance_over(self, int64_t timestamp) except -1
    cdef int advance_exactly(self, int64_t timestamp) except -1
    cdef bint several_due(self, int64_t now) noexcept
    cdef TimerC take_first(self) noexcept
    cdef int fire_by_step(self, int64_t now) except -1
    cdef int run(self, TimerC timer) except -1
    cdef int check_signals(self) except -1
    cdef int defer_interrupt(self, object interrupt) except -1
    cdef int raise_deferred(self) except -1
    cdef int64_t leave_out(self, int64_t due, int64_t period) except? -1
    cdef int warn_left_out(self, int64_t since, object timer, int64_t first) except -1
    cdef int report(self, object origin, object events) except -1   # handle the current exception
    cdef int refuse_coroutine(self, object answer, object origin, object events) except -1

cdef inline int advance(AppContext app, int64_t timestamp) except -1:
    """Playback: move the clock forward, never back, and fire due timers. An earlier time does nothing."""
    if timestamp < app.frame.clock:
        return 0
    if app.n_timers and app.timers[0].when <= timestamp:
        return app.advance_over(timestamp)
    app.frame.clock = timestamp
    return 0

cdef inline bint is_far(AppContext app, int64_t due, int64_t period) noexcept:
    """Return whether the current clock move makes `most_ticks` of a timer due after the one at `due`."""
    return due < app.clock_move.goal and period > 0 and (
        <uint64_t> app.clock_move.goal - <uint64_t> due) // <uint64_t> period >= <uint64_t> app.most_ticks

cdef inline int64_t left_out(AppContext app, int64_t due, int64_t period) except? -1:
    """Return by how many ms, in whole periods, a periodic timer skips ahead of `due`.

    Every tick runs however far the clock moves, so that results equal those of a clock in small steps. If one move makes
    more than `most_ticks` of a timer due, because of a wrong timestamp or a suspended computer, only the last ones run,
    and a warning is logged."""
    return app.leave_out(due, period) if is_far(app, due, period) else 0

cdef inline int64_t next_tick_of(AppContext app, int64_t when, int64_t period) except? -1:
    """Return the tick of a periodic timer after the one at `when`."""
    cdef int64_t due = later(when, period)
    return due + left_out(app, due, period)

cdef inline FrameC save_frame(AppContext app) noexcept:
    """Save and clear the frame for a nested entry (a function or callback that sends), which starts like one from
    outside. restore_frame() brings the frame back."""
    cdef FrameC frame = app.frame
    app.frame.slots = NULL
    app.frame.output = NULL
    app.frame.row = NULL
    app.frame.partition = 0
    app.frame.group = 0
    return frame

cdef inline void restore_frame(AppContext app, const FrameC* frame) noexcept:
    cdef int64_t clock = app.frame.clock
    cdef bint playback = app.frame.playback
    app.frame = frame[0]
    app.frame.clock = clock
    app.frame.playback = playback

# Let one event of a chunk fail without the events after it.
cdef int fault_alone(FaultSink source, object error, EventC* event) except -1

cdef int leave() except -1         # re-raise the current exception

# --- Ticks of a fixed period after a restore.
cdef enum:
    TICKS_IN_A_ROW = 1000          # of a step without output; then it skips the rest

cdef inline int64_t passed_over(int64_t due, int64_t now, int64_t period) noexcept:
    """Return the tick at which a step without output continues: the due one, or the last one by now if that is far."""
    return due if due > now or (now - due) // period <= TICKS_IN_A_ROW else now - (now - due) % period

cdef inline int64_t next_tick(AppContext app, Timed step, int64_t due, int64_t period) noexcept:
    """Return the tick at which an idle step continues for the current partition id: the first one, every period from
    `due` on, that has not fired yet. If a timer of an earlier step woke it, its own tick at this time is still to come."""
    cdef int64_t had = app.had_turns(step)
    return due if due > had else had + period - (had - due) % period

cdef inline int64_t restored_tick(AppContext app, int64_t due, int64_t period) except? -1:
    """Return the pending tick of a snapshot. On the system's clock it is at most one period away, since that clock may
    have been set back since. In playback the clock was restored as well."""
    cdef int64_t now = now_ms(&app.frame)
    if due < EARLIEST:
        raise ValueError("snapshot is damaged: a tick is at no time")
    if not app.frame.playback and due - now > period:
        due -= (due - now - 1) // period * period
    return due
