"""The steps of a join."""

cimport cython
from libc.stdint cimport int64_t

from siddhi._core.context cimport AppContext
from siddhi._core.event cimport EXPIRED
from siddhi._core.executor cimport FrameC, now_ms
from siddhi._core.searchable cimport found_free, found_release, look_up
from siddhi._core.snapshot cimport SnapshotReader, SnapshotWriter


@cython.final
@cython.no_gc_clear
cdef class JoinStep(Processor):
    """Joins what leaves one side's window with the content of the other side.

    Args:
        app: the app's context.
        own: slot of this side's events, 0 (left) or 1 (right).
        other: the other side's content with the join condition; None where this side does not trigger.
        held: this side's events where the other side finds them through an index, else None.
        outer: events without match are handed on with the other side null.
        joins_expired: expired events look for matches, too.
        parts: the selection where it aggregates, orders or limits: the matches of one event are a chunk for it.
    """

    def __init__(self, AppContext app not None, int own, Searchable other, HeldEvents held, bint outer,
                 bint joins_expired, JoinSelector parts):
        self.app = app
        self.own = own
        self.other = other
        self.held = held
        self.outer = outer
        self.joins_expired = joins_expired
        self.parts = parts

    def __dealloc__(self):
        found_free(&self.found)

    cdef int process(self, EventC* event) except -1:
        cdef EventC* slots[2]
        cdef EventC** before
        if self.held is not None:
            before = self.app.frame.slots
            self.app.frame.slots = slots
            try:
                self.held.follow(event, &self.app.frame)
            finally:
                self.app.frame.slots = before
        if self.other is None or (event.type == EXPIRED and not self.joins_expired):
            return 0
        return self.join(event)

    cdef int join(self, EventC* event) except -1:
        cdef FrameC* frame = &self.app.frame
        cdef EventC* slots[2]
        cdef EventC** before = frame.slots
        cdef Py_ssize_t i
        cdef int opposite = 1 - self.own
        # Taken out while it is in use: an expression may call Python, which may send into this join again.
        cdef FoundC found = self.found
        self.found = FoundC(NULL, 0, 0)
        slots[self.own] = event
        slots[opposite] = NULL
        frame.slots = slots
        frame.type = event.type
        frame.group = frame.partition
        try:
            look_up(self.other, frame, &found)
            if found.size == 0:
                if self.outer:
                    slots[opposite] = NULL
                    self.next.process(event)
            else:
                for i in range(found.size):
                    slots[opposite] = found.events[i]
                    self.next.process(event)
        finally:
            frame.slots = before
            found_release(&found, self.other.pool)
            if self.found.events is NULL:
                self.found = found
            else:
                found_free(&found)
        if self.parts is not None:
            return self.parts.end_part()
        return 0

    cdef int fetch(self, EventC** events, Py_ssize_t n) except -1:
        cdef EventC* slots[2]
        cdef FrameC* frame = &self.app.frame
        cdef EventC** before = frame.slots
        if self.other is None:
            return 0
        slots[1 - self.own] = NULL
        frame.slots = slots
        try:
            self.other.fetch(frame, events, n, self.own)
        finally:
            frame.slots = before
        return 0

    cdef int reset(self, int64_t timestamp) except -1:
        return 0 if self.other is None else self.next.reset(timestamp)

    cdef int finish(self) except -1:
        return 0 if self.other is None else self.next.finish()

    cdef int drop(self, unsigned int partition) except -1:
        # Comes before the window's own drop: the events are still there.
        return 0 if self.held is None else self.held.forget(partition)

    cdef int write(self, SnapshotWriter writer) except -1:
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        if self.held is not None:
            self.held.stale = True
        return 0


@cython.final
@cython.no_gc_clear
cdef class PassingWindow(Processor):
    """Stands where a stream of a join has no window: an event passes, expires at once where that is wanted, and is
    followed by RESET. It holds nothing, so the other side never finds anything.

    Args:
        app: the app's context.
        pool: of the events, which then must be the query's own; None where expired events are not wanted.
    """

    def __init__(self, AppContext app not None, EventPool pool):
        self.app = app
        self.pool = pool

    cdef int process(self, EventC* event) except -1:
        cdef int64_t timestamp = event.timestamp
        self.next.process(event)
        if self.pool is not None:
            event.type = EXPIRED
            event.timestamp = now_ms(&self.app.frame)
            self.next.process(event)
        return self.next.reset(timestamp)

    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1:
        cdef Py_ssize_t fetched = at[0], more
        cdef JoinStep step = <JoinStep> self.next if isinstance(self.next, JoinStep) else None
        while at[0] < n:
            # What the next events will need is asked for while those before them are at work.
            while step is not None and fetched < n and fetched - at[0] <= ONE_FETCH // 2:
                more = min(n - fetched, <Py_ssize_t> ONE_FETCH)
                step.fetch(events + fetched, more)
                fetched += more
            self.process_one(events[at[0]])
            at[0] += 1
        return 0
