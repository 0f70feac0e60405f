# Sending from outside the engine: from a caller's thread into a stream, under the app's lock.

from libc.stdint cimport int64_t

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool, release
from siddhi._core.record.frame cimport FrameC, live_ms, system_ms
from siddhi._core.runtime.context cimport AppContext, advance, restore_frame, save_frame
from siddhi._core.runtime.lock cimport AppLock, is_nested, lock_app, unlock_app
from siddhi._core.stream.junction cimport StreamJunction, send
from siddhi._core.stream.rows cimport RowParser, parse_row

cdef class EventSender:
    cdef AppContext app
    cdef StreamJunction junction
    cdef RowParser rows
    cdef void bind(self, AppContext app, StreamJunction junction) noexcept
    cdef int follow(self, AppLock lock) except -1
    cdef int refuse_not_running(self) except -1
    cdef int send_events(self, list events) except -1

cdef inline int64_t untimed(AppContext app) noexcept:
    """Return the time of an event that is sent without a timestamp."""
    return system_ms() if app.frame.playback else live_ms(&app.frame)

cdef inline int enter(EventSender sender) except -1:
    """Lock the app that the sender belongs to; the caller unlocks it."""
    cdef AppLock lock = sender.app.lock
    lock_app(lock)
    return 0 if lock is sender.app.lock else sender.follow(lock)

cdef inline int send_row(EventSender sender, row, int64_t time, bint stamped) except -1:
    """Send a row as one event. `stamped`: the caller gave the time, which moves the clock in playback."""
    cdef EventC* event
    cdef EventChunk chunk
    cdef AppContext app
    cdef EventPool pool
    cdef FrameC frame
    cdef bint nested
    enter(sender)
    app = sender.app
    nested = is_nested(app.lock)
    if nested:
        frame = save_frame(app)
    try:
        if not app.running:
            sender.refuse_not_running()
        event = parse_row(sender.rows, row)
        event.timestamp = time
        pool = sender.rows.pool
        chunk.head = event
        chunk.tail = event
        try:
            if stamped and app.frame.playback:
                advance(app, time)
            send(sender.junction, &chunk)
        finally:
            release(pool, event)
    finally:
        if nested:
            restore_frame(app, &frame)
        unlock_app(app.lock)
    return 0
