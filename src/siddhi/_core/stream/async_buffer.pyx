"""The buffer of an ``@async`` stream: senders add events and continue, worker threads deliver them.

Workers remove events from the ring buffer only while they hold the app's lock. So events are delivered in the order in which
they were added, with any number of workers, and the ring does not change during a snapshot. Adding takes no lock: a ring
operation runs no Python code, so the GIL is enough.

A full ring blocks senders. A sender that holds the app's lock (a query that inserts into the stream, a callback that sends)
cannot wait for workers, which need that lock: it delivers the oldest events itself. If these events lead to further events
of the same stream, the ring grows: the stream would otherwise wait for itself without end. A stream that feeds itself with
more events than it delivers grows without end, so growth is reported and then limited.

Delivery runs C code only, in which Python neither switches threads nor handles signals. So a thread that delivers many
chunks lets other threads run every few milliseconds, and a worker releases the app's lock for a thread that waits for it.
"""

cimport cython
from libc.stdint cimport int64_t, uint32_t

import logging
import threading
from time import monotonic_ns

from siddhi._core.record.chunk cimport EventChunk, chunk_append, chunk_clear, chunk_release
from siddhi._core.record.event cimport EventC, EventPool, copy_event, release
from siddhi._core.runtime.context cimport AppContext, advance
from siddhi._core.runtime.lock cimport AppLock, PyThread_get_thread_ident, let_threads_run, lock_app, unlock_app
from siddhi._core.runtime.operator cimport Processor, Receiver
from siddhi._core.runtime.ring cimport EventRingC, ring_clear, ring_first, ring_pop, ring_push, ring_read, ring_write
from siddhi._core.runtime.sampler cimport SampleSite, SpanC, begin_unit, end_unit, profiling, site_of
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.stream.gate cimport gates, is_shut_for_me, longest_wait, pass_gate
from siddhi._core.stream.junction cimport StreamJunction, send
from siddhi.errors import LimitExceededError, NotRunningError

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef enum:
    TURN_NS = 10_000_000           # twice the time after which a waiting thread demands the interpreter lock
    LOOK_EVENTS = 8                # number of events delivered between two reads of the clock
    WARN_AT = 16                   # a ring that has grown to so many times its capacity is reported
    MOST_GROWTH = 1_000_000        # number of events beyond its capacity to which a ring grows

cdef double LOOK_S = 0.05

cdef object logger = logging.getLogger("siddhi")


@cython.final
@cython.no_gc_clear
cdef class AsyncBuffer(Processor):
    """Buffer of the events of one stream until a worker delivers them.

    Args:
        app: the app's context.
        junction: receives the events.
        capacity: number of events at which senders wait.
        batch: maximal number of events of a delivered chunk.
    """

    cdef StreamJunction junction
    cdef EventPool pool
    cdef EventRingC ring
    cdef readonly Py_ssize_t capacity
    cdef Py_ssize_t batch
    cdef bint stopped              # workers end when the ring is empty; senders no longer wait for room
    cdef int64_t deadline          # ns of the monotonic clock, after which nothing is delivered; 0: none
    cdef int64_t turn              # ns of the monotonic clock, when other threads could last run
    cdef Py_ssize_t unlooked       # events delivered since the clock was last read
    cdef bint helping              # a sender is delivering
    cdef bint reported             # the growth of the ring is logged
    cdef int sleeping              # workers waiting for events
    cdef int waiting               # senders waiting for room
    cdef object filled             # conditions to wait on
    cdef object emptied
    cdef AsyncBuffer successor     # takes the events of senders that come late; None: this buffer is in use

    def __init__(self, AppContext app not None, StreamJunction junction not None, Py_ssize_t capacity,
                 Py_ssize_t batch):
        self.app = app
        self.junction = junction
        self.pool = junction.pool
        self.capacity = capacity
        self.batch = batch
        self.filled = threading.Condition()
        self.emptied = threading.Condition()

    def __dealloc__(self):
        if self.pool is not None:
            ring_clear(&self.ring, self.pool)

    def __len__(self):
        return self.ring.size

    cdef bint holds_app(self) noexcept:
        """Return whether this thread holds the app's lock."""
        return self.app.lock.depth > 0 and self.app.lock.owner == PyThread_get_thread_ident()

    cdef int put(self, EventC* event, bint moves_clock, AppLock sender_lock) except -1:
        """Add a copy of an event as soon as there is room."""
        cdef EventC* copy
        cdef Py_ssize_t size
        if self.successor is not None:
            return self.successor.put(event, moves_clock, sender_lock)
        while self.ring.size >= self.capacity:
            if not self.holds_app():
                self.await_room(sender_lock)
                if self.successor is not None:
                    return self.successor.put(event, moves_clock, sender_lock)
                continue
            size = self.ring.size
            if self.helping or self.is_overdue():
                break
            self.help()
            if self.ring.size >= size:
                break                      # the delivered events have added as many new ones
        if self.stopped and not self.holds_app():
            self.refuse()
        copy = copy_event(self.pool, event)
        copy.stamp = moves_clock
        try:
            ring_push(&self.ring, copy)
        except:
            release(self.pool, copy)
            raise
        if self.stopped:
            # The workers may have ended: a sender that holds the app's lock delivers its events itself.
            while self.ring.size and not self.helping and not self.is_overdue():
                self.help()
        elif self.sleeping:
            with self.filled:
                self.filled.notify()
        return 0

    cdef int check_growth(self) except -1:
        """Report a ring that has grown far beyond its capacity; raise an error if it may not grow further."""
        if self.ring.size >= self.capacity + MOST_GROWTH:
            raise LimitExceededError(
                f"@async stream '{self.junction.id}' holds {self.ring.size} events in its buffer of {self.capacity}, "
                "because its queries insert more events into it than it delivers: the event was refused; "
                "end the cycle with a filter")
        if not self.reported:
            self.reported = True
            logger.warning(
                "app '%s', @async stream '%s': %d events in its buffer of %d, because its queries insert more events into "
                "it than it delivers; beyond %d events are refused", self.app.name, self.junction.id, self.ring.size,
                self.capacity, self.capacity + MOST_GROWTH)
        return 0

    cdef int help(self) except -1:
        """Deliver one chunk in the thread of a sender that holds the app's lock."""
        self.helping = True
        try:
            self.deliver()
        finally:
            self.helping = False
        if self.is_turn_over():
            PyErr_CheckSignals()           # the main thread may be the sender
            let_threads_run()
            self.turn = monotonic_ns()
        return 0

    cdef bint is_turn_over(self) except -1:
        cdef int64_t now
        if self.unlooked < LOOK_EVENTS:
            return False
        self.unlooked = 0
        now = monotonic_ns()
        return now - self.turn >= TURN_NS

    cdef bint is_overdue(self) except -1:
        return self.deadline and <int64_t> monotonic_ns() >= self.deadline

    cdef int await_room(self, AppLock sender_lock) except -1:
        # Release the senders' lock while waiting: the thread that makes room may send through the same entry.
        cdef int i, depth = 0 if sender_lock is None else sender_lock.depth
        for i in range(depth):  # no-cython-lint
            unlock_app(sender_lock)
        self.waiting += 1
        try:
            with self.emptied:
                while self.ring.size >= self.capacity and not self.stopped:
                    if gates.shut:
                        is_shut_for_me(self.app)       # workers wait there: raises if this thread's loop keeps it shut
                    self.emptied.wait(longest_wait())
        finally:
            self.waiting -= 1
            for i in range(depth):  # no-cython-lint
                lock_app(sender_lock)
        return 0 if not self.stopped or self.successor is not None else self.refuse()

    cdef int refuse(self) except -1:
        raise NotRunningError(
            f"Siddhi app '{self.app.name}' was shut down while an event was sent to '{self.junction.id}'; "
            "the event was not taken")

    cdef int deliver(self) except -1:
        """Deliver the oldest events as one chunk. The caller holds the app's lock."""
        cdef EventChunk chunk
        cdef EventC* event
        cdef Py_ssize_t n = min(self.batch, self.ring.size)
        cdef int64_t clock = 0
        cdef bint moves_clock = False
        cdef uint32_t partition
        cdef SampleSite site = None
        cdef SpanC span
        cdef int unit = 0
        if n == 0:
            return 0
        self.unlooked += n
        chunk_clear(&chunk)
        if profiling.sites is not NULL and (profiling.sampler is not NULL or profiling.open == 0):
            site = site_of(self.junction)
        if site is not None:
            site.more_rows += n - 1
            unit = begin_unit(site, &span)
        while n:
            event = ring_pop(&self.ring)
            if event.stamp:
                clock = event.timestamp
                moves_clock = True
            chunk_append(&chunk, event)
            n -= 1
        partition = self.app.frame.partition
        try:
            # Wake senders when half of the ring is free. Otherwise sender and worker would alternate for every event.
            if self.waiting and 2 * self.ring.size <= self.capacity:
                with self.emptied:
                    self.emptied.notify_all()
            self.app.frame.partition = 0
            if moves_clock and self.app.frame.playback:
                advance(self.app, clock)
            send(self.junction, &chunk)
        finally:
            self.app.frame.partition = partition
            chunk_release(&chunk, self.pool)
            if site is not None:
                end_unit(site, &span, unit)
        return 0

    # --- threads

    def work(self):
        """Deliver until :meth:`stop` was called and the ring is empty, or until the deadline. Runs in a worker thread."""
        while self.await_events():
            self.deliver_some()

    def deliver_some(self):
        """Deliver one chunk, if there are events. Errors of the stream's error handling propagate."""
        while gates.shut and not self.stopped and not self.holds_app() and not pass_gate(self.app, LOOK_S):
            pass                           # a worker is to end although readers are behind
        lock_app(self.app.lock)
        try:
            self.deliver()
        finally:
            unlock_app(self.app.lock)
        if self.is_turn_over() and not self.holds_app():
            self.give_turn()

    cdef int give_turn(self) except -1:
        """Let other threads run, among them senders that wait for room and a thread that waits for the app's lock."""
        if self.waiting and self.ring.size < self.capacity:
            with self.emptied:
                self.emptied.notify_all()
        self.app.lock.give_turn()
        self.turn = monotonic_ns()
        return 0

    cdef bint await_events(self) except -1:
        """Wait for events; return False at the end: after stop() with an empty ring, or after the deadline."""
        if self.is_overdue():
            return False
        if self.ring.size:
            return True
        with self.filled:
            # Count this worker before checking the ring again: a sender that adds an event from now on notifies it.
            self.sleeping += 1
            try:
                while self.ring.size == 0 and not self.stopped:
                    self.filled.wait()
            finally:
                self.sleeping -= 1
        return self.ring.size != 0

    def deliver_until(self, int64_t deadline):
        """Deliver no event after ``deadline`` (ns of the monotonic clock); the remaining events stay in the ring."""
        self.deadline = deadline

    def stop(self):
        """Let workers end when the ring is empty; senders that wait for room are refused."""
        self.stopped = True
        with self.filled:
            self.filled.notify_all()
        with self.emptied:
            self.emptied.notify_all()

    def hand_over(self, AsyncBuffer successor not None):
        """Move the events to the buffer of a stream with the same attributes, to which senders are redirected from now on.

        The workers of this buffer end. The caller holds the app's lock. No Python code runs before the senders are
        redirected, so that no event is added behind those that were moved.
        """
        cdef EventC* event
        cdef EventC* copy
        while self.ring.size:
            event = ring_first(&self.ring)
            copy = copy_event(successor.pool, event)
            copy.stamp = event.stamp
            try:
                ring_push(&successor.ring, copy)
            except:
                release(successor.pool, copy)
                raise
            release(self.pool, ring_pop(&self.ring))
        self.successor = successor
        self.stop()

    # --- snapshots

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef Py_ssize_t i
        ring_write(&self.ring, writer, self.pool)
        for i in range(self.ring.size):
            writer.put_bool(self.ring.events[(self.ring.head + i) & self.ring.mask].stamp != 0)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef Py_ssize_t i
        ring_read(&self.ring, reader, self.pool)
        for i in range(self.ring.size):
            self.ring.events[(self.ring.head + i) & self.ring.mask].stamp = reader.get_bool()
        for condition in (self.filled, self.emptied):
            with condition:
                condition.notify_all()
        return 0


@cython.final
cdef class AsyncEntry(Receiver):
    """Receiver that adds the events of a junction to the buffer.

    Args:
        buffer: the buffer.
        moves_clock: in playback, the timestamps of these events move the app's clock.
        sender_lock: lock of the senders of this entry, released while they wait; None: the app's lock.
    """

    cdef AsyncBuffer buffer
    cdef bint moves_clock
    cdef AppLock sender_lock

    def __init__(self, AsyncBuffer buffer not None, bint moves_clock, AppLock sender_lock):
        self.buffer = buffer
        self.moves_clock = moves_clock
        self.sender_lock = sender_lock

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        cdef AsyncBuffer buffer = self.buffer
        # Senders from outside wait for room. A chunk is refused as a whole: all of it goes to the error handling.
        if buffer.ring.size >= WARN_AT * buffer.capacity and buffer.holds_app():
            buffer.check_growth()
        while event is not NULL:
            buffer.put(event, self.moves_clock, self.sender_lock)
            event = event.next
        return 0
