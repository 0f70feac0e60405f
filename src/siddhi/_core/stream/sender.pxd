# Sending from outside the engine: from a caller's thread into a stream, under the app's lock.

from libc.stdint cimport int64_t

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool, release
from siddhi._core.record.frame cimport FrameC, live_ms, system_ms
from siddhi._core.runtime.context cimport AppContext, advance, restore_frame, save_frame
from siddhi._core.runtime.lock cimport AppLock, is_nested, lock_app, unlock_app
from siddhi._core.runtime.sampler cimport SampleSite, SpanC, begin_unit, end_unit, profiling, siddhi_ticks
from siddhi._core.stream.gate cimport gates
from siddhi._core.stream.junction cimport StreamJunction, send
from siddhi._core.stream.rows cimport RowParser, parse_row

cdef class EventSender:
    cdef AppContext app
    cdef StreamJunction junction
    cdef RowParser rows
    cdef SampleSite site                   # of the junction while the app is profiled
    cdef unsigned long long version        # of profiling.sites when it was looked up
    cdef int find_site(self) except -1
    cdef void bind(self, AppContext app, StreamJunction junction) noexcept
    cdef int follow(self, AppLock lock) except -1
    cdef int await_readers(self) except -1
    cdef int refuse_not_running(self) except -1
    cdef int send_events(self, list events) except -1
    cdef int send_rows(self, list rows, int64_t time) except -1
    cdef int send_chunk(self, list items, bint are_rows, int64_t time) except -1

cdef class AwaitedSends:
    cdef EventSender events

cdef inline int64_t untimed(AppContext app) noexcept:
    """Return the time of an event that is sent without a timestamp."""
    return system_ms() if app.frame.playback else live_ms(&app.frame)

cdef inline int enter(EventSender sender) except -1:
    """Lock the app that the sender belongs to; the caller unlocks it. From outside, wait for readers that are behind."""
    cdef AppLock lock = sender.app.lock
    cdef int queued = lock_app(lock)       # 0 wherever a gate is open and no thread waits
    if lock is not sender.app.lock:
        sender.follow(lock)
        queued = 1
    return sender.await_readers() if queued and gates.shut else 0

cdef inline SampleSite site_of_sender(EventSender sender):
    """Return where the units of a sender are sampled; None: its app is not profiled."""
    if sender.version != profiling.version:
        sender.find_site()
    return sender.site

cdef enum SentUnit:
    NOT_PROFILED = 0
    COUNTED = 1
    OF_SITE = 2

cdef struct SentUnitC:             # a unit of a profile that sends
    SentUnit kind
    void* site                     # OF_SITE: owned
    SpanC span
    int unit

cdef void begin_of_site(EventSender sender, bint nested, SentUnitC* unit) noexcept
cdef void end_of_site(SentUnitC* unit) noexcept

cdef inline void begin_sent(EventSender sender, bint nested, SentUnitC* unit) noexcept:
    """Begin a unit; most units are only counted, and hold no reference to their site."""
    if profiling.open == 0 and sender.version == profiling.version and sender.site is not None and sender.site.left > 1:
        sender.site.left -= 1
        profiling.open = 1
        unit.kind = COUNTED
    else:
        begin_of_site(sender, nested, unit)

cdef inline void end_sent(SentUnitC* unit) noexcept:
    if unit.kind == COUNTED:
        profiling.open -= 1
    elif unit.kind == OF_SITE:
        end_of_site(unit)

cdef inline int64_t begin_way_in(EventSender sender) noexcept:
    """Return the ticks now if the next unit of a profile is measured: what comes before the lock belongs to it; else 0."""
    if profiling.sites is NULL or sender.site is None or sender.site.left > 1:
        return 0
    return siddhi_ticks()

cdef inline int send_row(EventSender sender, row, int64_t time, bint stamped, int64_t came) except -1:
    """Send a row as one event.

    `stamped`: the caller gave the time, which moves the clock in playback. `came`: what begin_way_in() returned.
    """
    cdef EventC* event
    cdef EventChunk chunk
    cdef AppContext app
    cdef EventPool pool
    cdef FrameC frame
    cdef bint nested
    cdef SentUnitC unit
    unit.kind = NOT_PROFILED
    if came:
        came = siddhi_ticks() - came       # without what the lock is waited for
    enter(sender)
    app = sender.app
    nested = is_nested(app.lock)
    if profiling.sites is not NULL:
        begin_sent(sender, nested, &unit)
        if unit.kind == OF_SITE and not nested:
            (<SampleSite> unit.site).add_way_in(came)
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
        if unit.kind:
            end_sent(&unit)
        if nested:
            restore_frame(app, &frame)
        unlock_app(app.lock)
    return 0
