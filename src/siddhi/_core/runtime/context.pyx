"""Clock, timers and the handling of errors of one app."""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.ref cimport Py_DECREF, Py_INCREF

import logging
from heapq import heappop, heappush
from time import perf_counter_ns

from siddhi._core.record.frame cimport live_ms, now_ms, system_ms
from siddhi._core.record.instant cimport INT64_MIN, read_instant
from siddhi._core.runtime.sampler cimport SampleSite, SpanC, begin_unit, end_unit, profiling, site_of

cdef extern from "siddhi/stack.h":
    bint siddhi_stack_has_room() noexcept


cdef int leave() except -1:
    return -1


cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1
    bint PyAsyncGen_CheckExact(object o)
    bint PyCoro_CheckExact(object o)


cdef enum:
    FIRST_INSTANT = 0              # due time of those who wait for time to begin
    MOST_TICKS = 10_000_000        # half a minute for one that sends an event; every second, a hundred days


cdef unsigned long long steps_built = 0
cdef object logger = logging.getLogger("siddhi")


cdef class Timed:
    """Something that can be woken at a time."""

    def __cinit__(self):
        global steps_built
        steps_built += 1
        self.rank = steps_built

    def take_rank(self, Timed other not None):
        """Take the place of another step in the order in which timers fire; it has no pending timer."""
        self.rank = other.rank

    cdef int on_timer(self, int64_t when) except -1:
        raise TypeError(f"{type(self).__name__} has no timer")

    cdef void abort(self) noexcept:
        pass

    cdef bint is_idle(self, uint32_t partition) noexcept:
        return False


cdef class FaultSink:
    """Handles the failure of one event."""

    cdef int fault(self, object error, EventC* event) except -1:
        raise error


cdef int fault_alone(FaultSink source, object error, EventC* event) except -1:
    cdef EventC* following = event.next
    event.next = NULL
    try:
        return source.fault(error, event)
    finally:
        event.next = following


cdef class OperationMeter:
    """Counts and times one kind of operation on one table, window or aggregation. Guarded by the app's lock.

    Attributes:
        on: whether it measures.
        operations: number of operations since it was switched on.
        nanoseconds: their total time.
        slowest: the longest time of one call, ns.
    """

    def switch(self, bint on):
        """Start measuring from zero, or stop."""
        self.on = on
        if on:
            self.operations = self.nanoseconds = self.slowest = 0

    def count(self, int64_t operations, int64_t nanoseconds):
        """Go on counting from given values."""
        self.operations = operations
        self.nanoseconds = nanoseconds

    cdef int64_t begin(self) except? -1:
        return perf_counter_ns()

    cdef int end(self, int64_t start, int64_t operations) except -1:
        cdef int64_t taken = perf_counter_ns() - start
        self.operations += operations
        self.nanoseconds += taken
        self.slowest = max(self.slowest, taken)
        return 0


cdef class AppContext:
    """The shared state of an app's operators."""

    def __cinit__(self, str name not None):
        self.name = name
        self.lock = AppLock()
        self.batch_callbacks = []
        self.retired = []
        self.meters = {}
        self.depth_limit = UNCHECKED_DEPTH
        self.wiring = 1
        self.most_ticks = MOST_TICKS
        self.clock_move.goal = self.reported_goal = INT64_MIN

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.n_timers):
            Py_DECREF(<object> self.timers[i].target)
        PyMem_Free(self.timers)

    @property
    def playback(self):
        """Whether events drive the clock."""
        return self.frame.playback

    def set_playback(self, bint playback):
        """Switch the clock's source. Timers queued so far go on under the new one."""
        with self.lock:
            if playback != self.frame.playback:
                self.frame.clock = 0
            self.frame.playback = playback
            self.wiring += 1

    def set_exact_timers(self, bint exact):
        """Playback: whether a timer runs at its own time, or at that of the event that moves the clock over it."""
        with self.lock:
            self.exact = exact

    def meter(self, str kind not None, str name not None, str operation not None):
        """The meter of an operation, the same for all who do it."""
        meter = self.meters.get((kind, name, operation))
        if meter is None:
            meter = OperationMeter()
            meter.switch(self.measuring)
            self.meters[kind, name, operation] = meter
        return meter

    def set_measuring(self, bint measuring):
        """Switch all meters on, from zero, or off; the app's lock is held."""
        self.measuring = measuring
        for meter in self.meters.values():
            meter.switch(measuring)

    def share_lock(self, AppLock lock not None):
        """Use another app's lock: the two send to each other. To be called before anything else uses this one's."""
        self.lock = lock

    def set_running(self, bint running):
        self.running = running

    @property
    def now(self):
        """The clock in ms."""
        return now_ms(&self.frame)

    @property
    def ahead(self):
        """By how many ms the clock is in front of the system's, which was set back; 0 in playback."""
        return 0 if self.frame.playback else max(0, live_ms(&self.frame) - system_ms())

    @property
    def next_due(self):
        """Due time in ms of the earliest timer, or None."""
        return self.timers[0].when if self.n_timers else None

    def advance_clock(self, timestamp):
        """Playback: move the clock to a time (ms) and fire every timer due by then, in time order.

        Raises:
            TypeError: it is not an integer.
            ValueError: it is out of range.
        """
        cdef FrameC frame
        cdef int64_t time = read_instant(timestamp, "time")
        with self.lock:
            frame = save_frame(self)
            try:
                advance(self, time)
            finally:
                restore_frame(self, &frame)

    def latest_awaited(self):
        """Due time in ms of the last timer that something waits for; None: for none."""
        cdef Py_ssize_t i
        cdef TimerC* timer
        cdef int64_t latest = 0
        cdef bint any_awaited = False
        with self.lock:
            for i in range(self.n_timers):
                timer = &self.timers[i]
                if (not any_awaited or timer.when > latest) and not (<Timed> timer.target).is_idle(timer.partition):
                    any_awaited = True
                    latest = timer.when
        return latest if any_awaited else None

    def awaited_targets(self):
        """Whose timers something waits for."""
        cdef Py_ssize_t i
        with self.lock:
            return [<object> self.timers[i].target for i in range(self.n_timers)
                    if not (<Timed> self.timers[i].target).is_idle(self.timers[i].partition)]

    def restore_clock(self, int64_t timestamp):
        """Playback: set the clock, forward or back, without firing anything."""
        with self.lock:
            if self.frame.playback:
                self.frame.clock = timestamp

    def fire_due(self):
        """Live mode: fire every timer that is due by the system clock."""
        cdef int64_t now
        with self.lock:
            now = now_ms(&self.frame)
            self.fire(now, now)

    def close(self):
        """The app was shut down: forget all timers, and take no new ones."""
        self.closed = True
        self.cancel_timers()

    def cancel_timers(self):
        """Forget all timers."""
        with self.lock:
            while self.n_timers:
                self.n_timers -= 1
                Py_DECREF(<object> self.timers[self.n_timers].target)

    def pending_timers(self):
        """All timers, each as its target, due time (ms) and partition id, in the order in which they were set."""
        cdef Py_ssize_t i
        with self.lock:
            timers = [(self.timers[i].order, <object> self.timers[i].target, self.timers[i].when,
                       self.timers[i].partition) for i in range(self.n_timers)]
        timers.sort(key=lambda timer: timer[0])
        return [timer[1:] for timer in timers]

    def set_timers(self, list timers not None):
        """Replace all timers by those of :meth:`pending_timers`."""
        with self.lock:
            self.cancel_timers()
            for target, when, partition in timers:
                self.schedule(target, when, partition)

    cdef int schedule(self, Timed target, int64_t when, uint32_t partition) except -1:
        cdef TimerC* timers
        cdef Py_ssize_t i, parent
        cdef TimerC timer
        if self.closed:
            return 0
        if self.n_timers == self.timer_capacity:
            timers = <TimerC*> PyMem_Realloc(self.timers, max(16, 2 * self.timer_capacity) * sizeof(TimerC))
            if timers is NULL:
                raise MemoryError
            self.timers = timers
            self.timer_capacity = max(16, 2 * self.timer_capacity)
        self.timer_order += 1
        timer.when = when
        timer.order = self.timer_order
        timer.target = <void*> target
        timer.partition = partition
        Py_INCREF(target)
        i = self.n_timers
        self.n_timers += 1
        while i > 0:
            parent = (i - 1) // 2
            if not earlier(&timer, &self.timers[parent]):
                break
            self.timers[i] = self.timers[parent]
            i = parent
        self.timers[i] = timer
        if i == 0 and not self.frame.playback and self.wake is not None:
            self.wake()
        return 0

    cdef int advance_over(self, int64_t timestamp) except -1:
        """Playback: the clock moves to a time, and timers are due by then."""
        if self.exact:
            return self.advance_exactly(timestamp)
        cdef int64_t since = self.frame.clock
        if timestamp > since:
            self.frame.clock = timestamp
        return self.fire(self.frame.clock, since)

    cdef int advance_exactly(self, int64_t timestamp) except -1:
        """Each timer runs at its own time; what it makes due before the end has its turn in time order, too."""
        cdef int64_t due
        cdef ClockMoveC clock_move = self.clock_move
        self.clock_move.rank = 0
        self.clock_move.goal = timestamp
        try:
            while self.n_timers and (self.timers[0].when <= timestamp or self.timers[0].when <= self.frame.clock):
                self.check_signals()
                due = self.timers[0].when
                if due <= FIRST_INSTANT and self.frame.clock == 0:
                    due = timestamp            # time begins with the first event
                if due > self.frame.clock:
                    self.frame.clock = due
                    self.clock_move.rank = 0
                if due == self.frame.clock:    # what was ordered too late has no place in the order
                    self.take_turn(&self.timers[0])
                self.run(self.take_first())
        finally:
            self.clock_move = clock_move
        if timestamp > self.frame.clock:
            self.frame.clock = timestamp
        return 0

    cdef int fire(self, int64_t now, int64_t since) except -1:
        # A timer's consequences may move the clock (a callback that sends): the outer loop goes on with what is due.
        cdef ClockMoveC clock_move = self.clock_move
        self.clock_move.rank = 0
        self.clock_move.since = since
        self.clock_move.goal = now
        try:
            while self.n_timers and self.timers[0].when <= now:
                if self.frame.playback and self.several_due(now):
                    self.fire_by_step(now)
                else:
                    self.take_turn(&self.timers[0])
                    self.check_signals()
                    self.run(self.take_first())
                if self.frame.playback and self.frame.clock > now:
                    self.clock_move.goal = now = self.frame.clock
        finally:
            self.clock_move = clock_move
        return 0

    cdef inline int check_signals(self) except -1:
        """Between two timers, now and then: a move of the clock may take long, and Ctrl-C is heard here only."""
        self.n_fired += 1
        return 0 if self.n_fired & 63 else PyErr_CheckSignals()

    cdef int defer_interrupt(self, object interrupt) except -1:
        """Keep a KeyboardInterrupt that came out of a callback or function until all receivers have seen the same rows of
        the current batch."""
        if not self.in_batch:
            raise interrupt
        if self.interrupt is None:
            self.interrupt = interrupt
        return 0

    cdef int raise_deferred(self) except -1:
        if self.interrupt is not None:
            interrupt, self.interrupt = self.interrupt, None
            raise interrupt
        return 0

    cdef void take_turn(self, const TimerC* timer) noexcept:
        cdef ClockMoveC* clock_move = &self.clock_move
        cdef unsigned long long rank = (<Timed> timer.target).rank
        if rank > clock_move.rank or (rank == clock_move.rank and (
                timer.when > clock_move.when or (timer.when == clock_move.when and timer.partition > clock_move.partition))):
            clock_move.rank = rank
            clock_move.when = timer.when
            clock_move.partition = timer.partition

    cdef int64_t had_turns(self, Timed step) noexcept:
        cdef int64_t now = now_ms(&self.frame)
        if not self.frame.playback or step.rank < self.clock_move.rank or self.clock_move.rank == 0:
            return now
        if step.rank > self.clock_move.rank:
            return now - 1 if self.exact else self.clock_move.since
        # Its own timers are at it: keys that are due at one time come in the order of their slots.
        return self.clock_move.when if self.frame.partition <= self.clock_move.partition else self.clock_move.when - 1

    cdef bint several_due(self, int64_t now) noexcept:
        return ((self.n_timers > 1 and self.timers[1].when <= now)
                or (self.n_timers > 2 and self.timers[2].when <= now))

    cdef TimerC take_first(self) noexcept:
        """Take the earliest timer out of the heap; its reference is the caller's."""
        cdef TimerC timer = self.timers[0]
        self.n_timers -= 1
        if self.n_timers:
            sift_down(self.timers, self.n_timers, self.timers[self.n_timers])
        return timer

    cdef int fire_by_step(self, int64_t now) except -1:
        """Fire what is due by a time, and what that makes due, one step after the other.

        Keys of a partition that are due at one time come in the order of their slots, as they do after a restore.
        """
        cdef list due = [], entry
        cdef TimerC timer
        try:
            while True:
                while self.n_timers and self.timers[0].when <= now:
                    timer = self.take_first()
                    target = <Timed> timer.target
                    entry = [target.rank, timer.when, timer.partition, timer.order, target]
                    Py_DECREF(<object> timer.target)
                    heappush(due, entry)
                if not due:
                    return 0
                self.check_signals()
                entry = heappop(due)
                timer.target = <void*> entry[4]
                timer.when = entry[1]
                timer.partition = entry[2]
                Py_INCREF(<object> timer.target)
                self.take_turn(&timer)
                self.run(timer)
        finally:
            for entry in due:
                self.schedule(entry[4], entry[1], entry[2])

    cdef int run(self, TimerC timer) except -1:
        """Wake the target of a timer that is no longer in the heap."""
        cdef Timed target = <Timed> timer.target
        cdef uint32_t partition = self.frame.partition
        cdef SampleSite site = None
        cdef SpanC span
        cdef int unit = 0
        Py_DECREF(target)
        self.frame.partition = timer.partition
        if profiling.sites is not NULL and (profiling.sampler is not NULL or profiling.open == 0):
            site = site_of(target)
            if site is not None:
                unit = begin_unit(site, &span)
        try:
            target.on_timer(timer.when)
        except BaseException as error:
            target.abort()
            if not isinstance(error, Exception) or self.passes_on(error):
                raise
            self.reset_depth()
            self.handle(error, "timer", [])
        finally:
            if site is not None:
                end_unit(site, &span, unit)
            self.frame.partition = partition
        return self.raise_deferred()

    cdef int64_t leave_out(self, int64_t due, int64_t period) except? -1:
        """The ms between a tick and the first of the last `most_ticks` by the goal."""
        cdef uint64_t ticks = (<uint64_t> self.clock_move.goal - <uint64_t> due) // <uint64_t> period + 1
        ticks -= <uint64_t> self.most_ticks
        cdef int64_t skipped = <int64_t> (ticks * <uint64_t> period)
        self.warn_left_out(due - period, f"a timer that fires every {period} ms", due + skipped)
        return skipped

    cdef int warn_left_out(self, int64_t since, object timer, int64_t first) except -1:
        """Warn, once per clock move, that only the ticks of a timer from `first` on are run."""
        if self.reported_goal != self.clock_move.goal:
            self.reported_goal = self.clock_move.goal
            logger.warning(
                "app '%s': time went on from %d to %d at once, which is more than %d ticks of %s: those before %d were left "
                "out", self.name, since, self.clock_move.goal, self.most_ticks, timer, first)
        return 0

    cdef int report(self, object origin, object events) except -1:
        try:
            leave()
        except KeyboardInterrupt as interrupt:
            self.defer_interrupt(interrupt)
        except Exception as error:
            if self.passes_on(error):
                raise error
            self.handle(error, origin, events)
        return 0

    cdef int refuse_coroutine(self, object answer, object origin, object events) except -1:
        """Handle what a callback returned as an error if it has to be awaited: the engine awaits nothing."""
        if PyCoro_CheckExact(answer):
            answer.close()
        elif not PyAsyncGen_CheckExact(answer):
            return 0
        error = TypeError(
            f"{origin} returned {type(answer).__name__.replace('_', ' ')} '{answer.__qualname__}', which the engine does "
            "not await, so it did not run; submit the work to an event loop, such as with "
            "asyncio.run_coroutine_threadsafe(..., loop)")
        if self.passes_on(error):
            raise error
        self.handle(error, origin, events)
        return 0

    cdef int check_depth(self, str stream) except -1:
        """Check the recursion depth of a send into a stream. The outermost send always passes."""
        if self.depth <= 1:
            return self.reset_depth()
        if self.depth_exceeded:
            raise RecursionError(f"stream '{stream}' rejects the event: the send before it exceeded the recursion limit")
        if self.depth <= MAX_DEPTH and siddhi_stack_has_room():
            return 0
        self.depth_exceeded = True
        self.depth_limit = 0
        raise RecursionError(
            f"stream '{stream}': recursion limit exceeded: one event led to a chain of more than {self.depth - 1} sends; "
            "check for streams that feed each other without end")

    cdef bint has_room(self) except -1:
        if self.depth == 0:
            self.reset_depth()
        return not self.depth_exceeded and siddhi_stack_has_room()

    cdef bint passes_on(self, object error) except -1:
        """Return whether the outermost send has to handle an exception, as it does when the depth limit was exceeded."""
        if self.depth == 0:
            return False
        if not self.depth_exceeded and self.depth >= UNCHECKED_DEPTH and (
                isinstance(error, RecursionError) or isinstance(error.__cause__, RecursionError)):
            # Callbacks or functions that send were stopped by the interpreter.
            self.depth_exceeded = True
            self.depth_limit = 0
        if self.depth_exceeded:
            # A traceback of thousands of frames is of no use.
            error.__traceback__ = None
        return self.depth_exceeded

    cdef int reset_depth(self) except -1:
        """Reset the depth limit: the outermost send begins, or has failed."""
        self.depth_exceeded = False
        self.depth_limit = UNCHECKED_DEPTH
        if self.retired:
            retired, self.retired = self.retired, []
            for junction in retired:
                junction.tidy()
        return 0

    def handle(self, error, origin, events):
        """Give an exception to the app's handler; without one it is raised."""
        if self.on_error is None:
            raise error
        self.on_error(error, origin, events)


cdef inline bint earlier(const TimerC* a, const TimerC* b) noexcept:
    # At one instant by what a restored app knows as well: the order of the text, the age of the partition keys' slots. Only
    # timers of one state go by the order in which they were set.
    if a.when != b.when:
        return a.when < b.when
    if a.target != b.target:
        return (<Timed> a.target).rank < (<Timed> b.target).rank
    return a.partition < b.partition or (a.partition == b.partition and a.order < b.order)


cdef void sift_down(TimerC* timers, Py_ssize_t n, TimerC timer) noexcept:
    """Insert a timer at the vacant root of a heap of n."""
    cdef Py_ssize_t i = 0, child
    while True:
        child = 2 * i + 1
        if child >= n:
            break
        if child + 1 < n and earlier(&timers[child + 1], &timers[child]):
            child += 1
        if not earlier(&timers[child], &timer):
            break
        timers[i] = timers[child]
        i = child
    timers[i] = timer
