"""The sender of events: from a caller's thread into a stream."""

cimport cython
from cpython.ref cimport Py_DECREF, Py_INCREF

from siddhi._core.record.chunk cimport chunk_append, chunk_clear, chunk_release
from siddhi._core.record.user_event cimport Event
from siddhi._core.stream.gate cimport is_shut_for_me, pass_gate
from siddhi._core.runtime.sampler cimport site_of
from siddhi._core.stream.rows cimport check_time
from siddhi._core.stream.gate import send_when_open
from siddhi.errors import EventError, NotRunningError, shown


@cython.final
cdef class EventSender:
    """Sends rows and events into one stream.

    An app handles one send at a time. A send from inside the app (a callback or function that sends) starts with a frame
    of its own, and the frame of the running work is restored afterwards.

    Args:
        app: the context of the app.
        junction: the junction of the stream.
    """

    def __init__(self, AppContext app not None, StreamJunction junction not None):
        self.rows = RowParser(junction)
        self.bind(app, junction)

    cdef void bind(self, AppContext app, StreamJunction junction) noexcept:
        """Send into another junction of a stream with the same attributes. The lock of the app so far is held by a thread
        that does not process any of its events."""
        self.app = app
        self.junction = junction
        self.rows.bind(junction)
        self.version = 0

    cdef int follow(self, AppLock lock) except -1:
        """Exchange the lock of the app so far for the lock of the app to which the sender was bound meanwhile."""
        while lock is not self.app.lock:
            unlock_app(lock)
            lock = self.app.lock
            lock_app(lock)
        return 0

    cdef int await_readers(self) except -1:
        """Wait without the lock, which is held before and afterwards, while readers of the app's output are behind."""
        cdef AppLock lock = self.app.lock
        cdef bint shut
        while not is_nested(lock):
            try:
                shut = is_shut_for_me(self.app)
            except BaseException:
                unlock_app(lock)
                raise
            if not shut:
                break
            unlock_app(lock)
            pass_gate(self.app, None)
            lock = self.app.lock
            lock_app(lock)
            if lock is not self.app.lock:
                self.follow(lock)
                lock = self.app.lock
        return 0

    def context(self):
        """Return the context of the app to which the events go now."""
        return self.app

    cdef int find_site(self) except -1:
        self.site = site_of(self.junction)
        self.version = profiling.version
        return 0

    cdef int refuse_not_running(self) except -1:
        raise NotRunningError(f"Siddhi app '{self.app.name}' is not running, cannot send event to '{self.junction.id}'")

    cdef int send_events(self, list events) except -1:
        """Send events as one chunk."""
        return self.send_chunk(events, False, 0)

    cdef int send_rows(self, list rows, int64_t time) except -1:
        """Send rows as one chunk; all events have the same time."""
        return self.send_chunk(rows, True, time)

    cdef int send_chunk(self, list items, bint are_rows, int64_t time) except -1:
        cdef EventChunk chunk
        cdef EventC* record
        cdef Event event
        cdef AppContext app
        cdef EventPool pool
        cdef FrameC frame
        cdef bint nested
        cdef SentUnitC unit
        unit.kind = NOT_PROFILED
        enter(self)
        app = self.app
        pool = self.rows.pool
        nested = is_nested(app.lock)
        if profiling.sites is not NULL:
            begin_sent(self, nested, &unit)
            if self.site is not None:
                self.site.more_rows += len(items) - 1
        if nested:
            frame = save_frame(app)
        chunk_clear(&chunk)
        try:
            if not app.running:
                self.refuse_not_running()
            if not items:
                raise EventError(f"stream '{self.junction.id}': no events to send")
            for item in items:
                if are_rows:
                    record = parse_row(self.rows, item)
                    record.timestamp = time
                    chunk_append(&chunk, record)
                    continue
                if not isinstance(item, Event):
                    raise EventError(f"stream '{self.junction.id}': expected Event objects, got {shown(item)}")
                event = item
                record = parse_row(self.rows, event.load())
                record.timestamp = event.timestamp
                chunk_append(&chunk, record)
                check_time(self.rows, event.timestamp)
            if app.frame.playback:
                advance(app, chunk.tail.timestamp)
            send(self.junction, &chunk)
        finally:
            chunk_release(&chunk, pool)
            if unit.kind:
                end_sent(&unit)
            if nested:
                restore_frame(app, &frame)
            unlock_app(app.lock)
        return 0


cdef void begin_of_site(EventSender sender, bint nested, SentUnitC* unit) noexcept:
    cdef SampleSite site = site_of_sender(sender)
    if site is None:
        return
    if nested and profiling.open and not site.sampler.sampling:
        site.more_rows += 1        # a part of the unit that sends it
        return
    Py_INCREF(site)
    unit.site = <void*> site
    unit.kind = OF_SITE
    unit.unit = begin_unit(site, &unit.span)


cdef void end_of_site(SentUnitC* unit) noexcept:
    cdef SampleSite site = <SampleSite> unit.site
    end_unit(site, &unit.span, unit.unit)
    Py_DECREF(site)


cdef class AwaitedSends:
    """Base of the input handlers: their ``send``, ``send_events`` and ``send_batch`` as coroutines."""

    def send_async(self, row, timestamp=None):
        """Return a coroutine that sends one event as :meth:`send` does, on the event loop that awaits it.

        It waits first, without blocking the loop: while readers of the app's output are behind whose policy is to wait
        (iterators, asynchronous callbacks), and while another thread sends. Arguments and errors are those of :meth:`send`.
        """
        return send_when_open(self.events.context, self.send, (row, timestamp))

    def send_events_async(self, events):
        """Return a coroutine that sends events as :meth:`send_events` does, and waits as that of :meth:`send_async`."""
        return send_when_open(self.events.context, self.send_events, (events,))

    def send_batch_async(self, data, timestamp=None):
        """Return a coroutine that sends a table as :meth:`send_batch` does, and waits as that of :meth:`send_async`."""
        return send_when_open(self.events.context, self.send_batch, (data, timestamp))
