"""Triggers: streams that are driven by the clock."""

cimport cython
from libc.stdint cimport int64_t, uint32_t

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport CellC, EventC, acquire, release
from siddhi._core.record.frame cimport now_ms
from siddhi._core.record.instant cimport INT64_MIN
from siddhi._core.runtime.context cimport AppContext, is_far, next_tick_of, restored_tick
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.stream.junction cimport StreamJunction, send

cdef enum:
    NOT_ORDERED = -1               # of Trigger.due: the app has not started, or no tick is left
    CRON_MS = 1000                 # minimum distance between ticks of a cron expression
    FIRST_INSTANT = 0              # in playback, before the clock is known: time begins with the first event


cdef class Trigger(Processor):
    """Sends the app's time into a stream of one long attribute. Subclasses define when.

    Each firing sends one event whose timestamp and value are the app's clock in ms.

    Args:
        app: context of the app.
        junction: junction of the stream.
    """

    cdef StreamJunction junction
    cdef int64_t due

    def __init__(self, AppContext app not None, StreamJunction junction not None):
        self.app = app
        self.junction = junction
        self.due = NOT_ORDERED

    def start(self):
        """Schedule the first tick when the app starts."""
        if self.due == NOT_ORDERED:
            self.begin()

    def await_first_instant(self):
        """Restart when playback begins in a running app: count from the first event."""
        self.begin()

    cdef int begin(self) except -1:
        if self.app.frame.playback and self.app.frame.clock == 0:
            return self.order(FIRST_INSTANT)
        return self.order(self.following(now_ms(&self.app.frame)))

    cdef int64_t following(self, int64_t time) except? -1:
        """Return the next due time after a time; NOT_ORDERED: never."""
        return NOT_ORDERED

    cdef int order(self, int64_t due) except -1:
        self.due = due
        return 0 if due == NOT_ORDERED else self.app.schedule(self, due, 0)

    cdef int on_timer(self, int64_t when) except -1:
        if when != self.due:
            return 0
        try:
            # Schedule the next tick first: a failing reader must not stop the trigger.
            self.order(self.following(now_ms(&self.app.frame) if when == FIRST_INSTANT else when))
        except KeyboardInterrupt:
            self.order(when)           # it is still due
            raise
        return 0 if when == FIRST_INSTANT else self.fire()

    cdef int fire(self) except -1:
        cdef EventChunk chunk
        cdef EventC* event = acquire(self.junction.pool)
        event.timestamp = now_ms(&self.app.frame)
        event.body[0] = 0
        (<CellC*> &event.body[1]).l = event.timestamp
        chunk.head = event
        chunk.tail = event
        try:
            send(self.junction, &chunk)
        finally:
            release(self.junction.pool, event)
        return 0

    cdef bint is_idle(self, uint32_t partition) noexcept:
        return True

    cdef int write(self, SnapshotWriter writer) except -1:
        writer.put_due(self.due)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef int64_t due = self.possible(reader.get_due()), now = now_ms(&self.app.frame)
        if due > FIRST_INSTANT and due <= now:
            due = self.catch_up(due, now)
        self.due = NOT_ORDERED
        if due != NOT_ORDERED:
            return self.order(due)
        if self.app.running:
            self.start()
        return 0

    cdef int64_t possible(self, int64_t due) except? -1:
        """Check a time from a snapshot."""
        return due

    cdef int64_t catch_up(self, int64_t due, int64_t now) except? -1:
        """Return the first due time after `now`; ticks missed while the app was down are skipped."""
        return self.following(now)


@cython.final
cdef class StartTrigger(Trigger):
    """``at 'start'``: once, while the app starts."""

    cdef bint fired

    def start(self):
        if not self.fired:
            self.fired = True
            self.fire()

    def pass_over(self):
        """Do not fire at the next start: the app is running already."""
        self.fired = True

    def await_first_instant(self):
        """Do nothing: the trigger fires once, and has fired."""

    cdef int read(self, SnapshotReader reader) except -1:
        reader.get_i64()
        return 0


@cython.final
cdef class PeriodicTrigger(Trigger):
    """``at every t``: at a fixed rate, first one period after the start (in playback, after the first instant).

    Args:
        period_ms: t.
    """

    cdef int64_t period

    def __init__(self, AppContext app not None, StreamJunction junction not None, int64_t period_ms):
        Trigger.__init__(self, app, junction)
        self.period = period_ms

    cdef int64_t following(self, int64_t time) except? -1:
        return next_tick_of(self.app, time, self.period)

    cdef int64_t possible(self, int64_t due) except? -1:
        if due < NOT_ORDERED:
            raise ValueError("snapshot is damaged: a trigger has an invalid due time")
        return due if due <= FIRST_INSTANT else restored_tick(self.app, due, self.period)

    cdef int64_t catch_up(self, int64_t due, int64_t now) except? -1:
        return due + ((now - due) // self.period + 1) * self.period


@cython.final
cdef class CronTrigger(Trigger):
    """``at '<cron>'``: fires at the times of a cron expression.

    Args:
        text: the cron expression, for messages.
        calendar: has ``next_after(time)``, which returns the next tick after a time or None, and ``before_last(n, until)``,
            which returns a time followed by exactly the last n ticks up to `until`. All in ms.
    """

    cdef str text
    cdef object calendar
    cdef int64_t goal              # target of the clock move that `bound` belongs to
    cdef int64_t bound             # ticks of that move up to this time are skipped

    def __init__(self, AppContext app not None, StreamJunction junction not None, str text not None, calendar not None):
        Trigger.__init__(self, app, junction)
        self.text = text
        self.calendar = calendar
        self.goal = INT64_MIN

    cdef int64_t following(self, int64_t time) except? -1:
        due = self.calendar.next_after(time)
        if due is not None and is_far(self.app, due, CRON_MS):
            if self.goal != self.app.clock_move.goal:
                self.bound = self.calendar.before_last(self.app.most_ticks, self.app.clock_move.goal)
                self.goal = self.app.clock_move.goal
            if due <= self.bound:
                due = self.calendar.next_after(self.bound)
                self.app.warn_left_out(time, f"the cron text '{self.text}'", due)
        return NOT_ORDERED if due is None else due
