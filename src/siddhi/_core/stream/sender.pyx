"""The sender of events: from a caller's thread into a stream."""

cimport cython

from siddhi._core.record.chunk cimport chunk_append, chunk_clear, chunk_release
from siddhi._core.record.user_event cimport Event
from siddhi._core.stream.rows cimport check_time
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

    cdef int follow(self, AppLock lock) except -1:
        """Exchange the lock of the app so far for the lock of the app to which the sender was bound meanwhile."""
        while lock is not self.app.lock:
            unlock_app(lock)
            lock = self.app.lock
            lock_app(lock)
        return 0

    cdef int refuse_not_running(self) except -1:
        raise NotRunningError(f"Siddhi app '{self.app.name}' is not running, cannot send event to '{self.junction.id}'")

    cdef int send_events(self, list events) except -1:
        """Send events as one chunk."""
        cdef EventChunk chunk
        cdef EventC* record
        cdef Event event
        cdef AppContext app
        cdef EventPool pool
        cdef FrameC frame
        cdef bint nested
        enter(self)
        app = self.app
        pool = self.rows.pool
        nested = is_nested(app.lock)
        if nested:
            frame = save_frame(app)
        chunk_clear(&chunk)
        try:
            if not app.running:
                self.refuse_not_running()
            if not events:
                raise EventError(f"stream '{self.junction.id}': no events to send")
            for item in events:
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
            if nested:
                restore_frame(app, &frame)
            unlock_app(app.lock)
        return 0
