"""Input handler of a corrected stream."""

cimport cython
from cpython.long cimport PyLong_CheckExact
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t, uint32_t

from itertools import repeat

from siddhi._core.columnar.reader cimport ColumnReader, Columns
from siddhi._core.record.event cimport BORROWED, EventC, EventPool, acquire, release
from siddhi._core.record.frame cimport FrameC
from siddhi._core.record.user_event cimport Event
from siddhi._core.runtime.context cimport AppContext, restore_frame, save_frame
from siddhi._core.runtime.lock cimport is_nested, unlock_app
from siddhi._core.stream.junction cimport StreamJunction
from siddhi._core.stream.rows cimport check_time, parse_row, parse_time
from siddhi._core.runtime.sampler cimport SampleSite, SpanC, begin_unit, end_unit, profiling
from siddhi._core.stream.sender cimport (
    NOT_PROFILED, AwaitedSends, EventSender, SentUnitC, begin_sent, end_sent, enter, site_of_sender,
)
from siddhi._core.correction.replay cimport Corrections
from siddhi._core.temporal.input cimport read_block, read_table, time_of
from siddhi.errors import EventError, InvalidTemporalEvent, shown


cdef enum:
    BLOCK = 256                    # rows of a batch that are read at a time

cdef str ROW = "use point(start, row); for rows with an end, declare another policy"


@cython.final
cdef class CorrectedInputHandler(AwaitedSends):
    """Sends events into one corrected stream. Returned by ``runtime.input_handler(stream)``; thread-safe.

    An event is processed at once. One that is earlier than others before it is put in its place: the app takes back what it
    said without it. One that is late by more than the bound of the stream, or before its CTI, is dropped and counted. What a
    callback sends is processed behind the event that called it. Times are milliseconds since 1970, or datetimes with a time
    zone. Every method that sends raises

    * :class:`siddhi.errors.InvalidTemporalEvent`: the event has no time, or an invalid one;
    * :class:`siddhi.errors.EventError`: the row does not fit the stream;
    * :class:`siddhi.errors.CannotSaveStateError`: a checkpoint is due, and the state of the app can't be saved;
    * :class:`siddhi.errors.NotRunningError`: the app is not running.

    The event has no effect then. Of a batch with an invalid event, none has an effect.

    Args:
        app: context of the app.
        junction: of the stream.
        corrections: of the app.
        start_at: position of the attribute that carries the times; -1: an event has its timestamp.
    """

    cdef Corrections corrections
    cdef uint32_t number
    cdef int start_at

    def __init__(self, AppContext app not None, StreamJunction junction not None, Corrections corrections not None,
                 int start_at=-1):
        self.start_at = start_at
        self.events = EventSender(app, junction)
        self.corrections = corrections
        self.number = <uint32_t> corrections.junctions.index(junction)

    def rebind(self, CorrectedInputHandler other not None):
        """Redirect to the stream of another handler with the same attributes; see ``InputHandler.rebind``."""
        self.events.bind(other.events.app, other.events.junction)
        self.corrections = other.corrections
        self.number = other.number
        self.start_at = other.start_at

    @property
    def stream(self):
        """Name of the stream."""
        return self.events.junction.id

    @property
    def cti_time(self):
        """The current CTI; ``siddhi.temporal.MIN`` before the first."""
        return self.corrections.inputs[self.number].cti

    @property
    def dropped(self):
        """Number of events that came too late."""
        return self.corrections.inputs[self.number].dropped

    @property
    def adjusted(self):
        """Always 0: late events are put in their place, and keep their time."""
        return 0

    @property
    def late(self):
        """Number of late events that were put in their place."""
        return self.corrections.inputs[self.number].late

    def send(self, row, timestamp=None):
        """Send one event.

        Args:
            row: the values, as of ``InputHandler.send``; an :class:`Event` brings its timestamp.
            timestamp: its time, if no attribute carries it.
        """
        if self.start_at >= 0:
            if timestamp is not None:
                self.refuse_timestamp()
        elif timestamp is None:
            if not isinstance(row, Event):
                raise InvalidTemporalEvent(f"stream '{self.stream}': an event needs a time; write send(row, timestamp=...)")
            timestamp = (<Event> row).timestamp
        self.send_at(row, timestamp)

    def point(self, start, row):
        """Send one event."""
        if self.start_at >= 0:
            self.refuse_timestamp()
        self.send_at(row, start)

    def send_events(self, events):
        """Send several events, each as a chunk of its own; those that are late are corrected together."""
        cdef list found = list(events)
        cdef Event event
        for item in found:
            if not isinstance(item, Event):
                raise EventError(f"stream '{self.stream}': expected Event objects, got {shown(item)}")
        if self.start_at >= 0:
            self.send_all(found, repeat(None))
        else:
            self.send_all(found, [event.timestamp for event in found])

    def send_rows(self, rows, time=None):
        """Send several rows as :meth:`send_events` does; all have the same time, if no attribute carries theirs."""
        self.send_all(rows, repeat(time if self.start_at < 0 else None))

    def insert_batch(self, table, *, start=None, end=None, cti=None):
        """Send the rows of a table, then a CTI; those that are late are corrected together.

        Args:
            table: what ``send_batch`` of a classical stream takes: a data frame, anything that exports Arrow, a numpy
                structured array, a mapping of names to arrays or lists, or a list of rows.
            start: name of the column of the times, or that column, unless an attribute carries them; None: ``start``.
            end: None: the events are points.
            cti: the CTI after the rows; None: none.
        """
        if end is not None:
            self.refuse_form("leave out 'end'")
        if self.start_at < 0:
            start = "start" if start is None else start
        elif start is None:
            start = self.events.junction.layout.names[self.start_at]
        else:
            self.refuse_timestamp()
        cdef Columns columns, times
        columns, times = read_table(self.stream, table, self.events.junction.layout, (start,))
        self.send_columns(columns, times)
        if cti is not None:
            self.cti(cti)

    def send_batch(self, table, timestamp=None):
        """Send the rows of a table as :meth:`insert_batch`; ``timestamp`` is its ``start``."""
        self.insert_batch(table, start=timestamp)

    def insert(self, start, end, row):
        """Not available: the events of a corrected stream are points."""
        self.refuse_form(ROW)

    def start_edge(self, start, row):
        """Not available: the events of a corrected stream are points."""
        self.refuse_form(ROW)

    def end_edge(self, start, end, row):
        """Not available: the events of a corrected stream are points."""
        self.refuse_form(ROW)

    def retract(self, start, end, new_end, row):
        """Not available: events are not taken back; what late ones make wrong is."""
        self.refuse_form("events are not taken back: the app retracts what late ones make wrong")

    def cti(self, time):
        """Promise that nothing before ``time`` follows. The clock moves to the smallest CTI of the corrected streams."""
        cdef int64_t at = time_of(self.stream, time, "CTI")
        cdef AppContext app
        cdef FrameC frame
        enter(self.events)
        app = self.events.app
        frame = save_frame(app)
        try:
            if not app.running:
                self.events.refuse_not_running()
            self.corrections.promise(self.number, at)
        finally:
            restore_frame(app, &frame)
            unlock_app(app.lock)

    cdef int64_t instant_of(self, time) except? -1:
        if PyLong_CheckExact(time):
            return parse_time(self.events.rows, time)
        return parse_time(self.events.rows, time if isinstance(time, int) else time_of(self.stream, time, "time"))

    cdef int refuse_form(self, str hint) except -1:
        raise InvalidTemporalEvent(
            f"stream '{self.stream}' corrects late events: it takes points, by send(), point() and send_events(), or by "
            f"send_batch() and insert_batch(), and CTIs; {hint}")

    cdef int refuse_timestamp(self) except -1:
        raise InvalidTemporalEvent(
            f"stream '{self.stream}': attribute '{self.events.junction.layout.names[self.start_at]}' carries the start; "
            "leave out the timestamp")

    cdef EventC* read(self, row, time) except NULL:
        """Return a record of a row at a time; None: that of the attribute which carries it."""
        cdef int64_t start = 0
        cdef EventC* event
        if time is not None:
            start = self.instant_of(time)
        elif self.start_at < 0:
            raise InvalidTemporalEvent(f"stream '{self.stream}': an event needs a time")
        event = parse_row(self.events.rows, (<Event> row).load() if isinstance(row, Event) else row)
        if time is None:
            try:
                if event.body[self.start_at >> 6] >> (self.start_at & 63) & 1:
                    raise InvalidTemporalEvent(
                        f"stream '{self.stream}': attribute '{self.events.junction.layout.names[self.start_at]}' is null; "
                        "an event needs a time")
                start = <int64_t> event.body[self.events.rows.words + self.start_at]
                check_time(self.events.rows, start)
            except:
                release(self.events.rows.pool, event)
                raise
        event.timestamp = start
        return event

    cdef int send_at(self, row, time) except -1:
        cdef EventC* event
        cdef AppContext app
        cdef FrameC frame
        cdef SentUnitC unit
        cdef bint nested
        unit.kind = NOT_PROFILED
        enter(self.events)
        app = self.events.app
        nested = is_nested(app.lock)
        if profiling.sites is not NULL:
            begin_sent(self.events, nested, &unit)
        if nested:
            frame = save_frame(app)
        try:
            if not app.running:
                self.events.refuse_not_running()
            event = self.read(row, time)
            self.corrections.take(self.number, event.timestamp, event)
        finally:
            if unit.kind:
                end_sent(&unit)
            if nested:
                restore_frame(app, &frame)
            unlock_app(app.lock)
        return 0

    cdef int send_all(self, rows, times) except -1:
        """Send rows, and correct once at the end."""
        cdef list found = list(rows)
        cdef AppContext app
        cdef FrameC frame
        enter(self.events)
        app = self.events.app
        frame = save_frame(app)
        try:
            if not app.running:
                self.events.refuse_not_running()
            self.hold_all(found, times, None, len(found))
        finally:
            restore_frame(app, &frame)
            unlock_app(app.lock)
        return 0

    cdef int send_columns(self, Columns rows, Columns times) except -1:
        """Send the rows of a table, and correct once at the end."""
        cdef AppContext app
        cdef FrameC frame
        enter(self.events)
        app = self.events.app
        frame = save_frame(app)
        try:
            if not app.running:
                self.events.refuse_not_running()
            self.hold_all(rows, None, times, times.length)
        finally:
            restore_frame(app, &frame)
            unlock_app(app.lock)
        return 0

    cdef int hold_all(self, rows, times, Columns columns, Py_ssize_t n) except -1:
        """Read rows, then take them, and correct once at the end if nothing else is being processed.

        Args:
            rows: a list of rows with their ``times``; or columns, with ``columns`` of times.
            times: see ``rows``.
            columns: see ``rows``.
            n: the number of rows.
        """
        cdef Py_ssize_t made = 0, taken = 0
        cdef Corrections corrections = self.corrections
        cdef bint begins = not corrections.busy
        cdef EventC** events = <EventC**> PyMem_Calloc(max(1, n), sizeof(EventC*))
        if events is NULL:
            raise MemoryError
        try:
            if columns is None:
                self.read_list(rows, times, events, &made, n)
            else:
                self.read_columns(rows, columns, events, &made, n)
            corrections.busy = True
            try:
                while taken < made:
                    taken += 1             # it takes the reference, also where it fails
                    self.hold_one(events[taken - 1], begins)
            except BaseException as error:
                if hasattr(error, "add_note"):
                    error.add_note(f"stream '{self.stream}' had taken the first {taken - 1} of {n} rows when this happened")
                raise
            finally:
                if begins:
                    self.finish()
        finally:
            for taken in range(taken, made):
                release(self.events.rows.pool, events[taken])
            PyMem_Free(events)
        return 0

    cdef int hold_one(self, EventC* event, bint begins) except -1:
        """Process an event, or keep it if it is late: a unit of work while the app is profiled."""
        cdef SentUnitC unit
        unit.kind = NOT_PROFILED
        if profiling.sites is not NULL:
            begin_sent(self.events, is_nested(self.events.app.lock), &unit)
        try:
            return self.corrections.hold(self.number, event.timestamp, event, begins)
        finally:
            if unit.kind:
                end_sent(&unit)

    cdef int finish(self) except -1:
        """Correct what late events make wrong: a unit of its own while the app is profiled."""
        cdef SampleSite site = site_of_sender(self.events) if profiling.sites is not NULL else None
        cdef SpanC span
        cdef int unit
        if site is None or is_nested(self.events.app.lock):
            return self.corrections.finish()
        unit = begin_unit(site.flushes, &span)
        try:
            return self.corrections.finish()
        finally:
            end_unit(site.flushes, &span, unit)

    cdef int read_list(self, list rows, times, EventC** events, Py_ssize_t* made, Py_ssize_t n) except -1:
        """Make a record of each row; ``made`` counts them."""
        for row, time in zip(rows, times):
            try:
                events[made[0]] = self.read(row, time)
            except (EventError, InvalidTemporalEvent) as error:
                # The message begins with the stream.
                error.args = (f"{error}; it is row {made[0]} of {n}; no row of the batch was inserted",)
                if isinstance(error, InvalidTemporalEvent):
                    error.rows_taken = 0
                raise
            made[0] += 1
        return 0

    cdef int read_columns(self, Columns rows, Columns times, EventC** events, Py_ssize_t* made, Py_ssize_t n) except -1:
        """Make a record of each row; ``made`` counts them."""
        cdef EventPool pool = self.events.rows.pool, time_pool = EventPool(times.layout)
        cdef ColumnReader reader = <ColumnReader> times.readers[0]
        cdef EventC* span = acquire(time_pool)
        cdef Py_ssize_t at = 0, size, i
        cdef int word
        try:
            while at < n:
                size = min(<Py_ssize_t> BLOCK, n - at)
                for i in range(at, at + size):
                    events[i] = acquire(pool)
                    events[i].flags = BORROWED
                    for word in range(pool.layout.words):
                        events[i].body[word] = 0
                    made[0] += 1
                read_block(rows, events + at, at, size)
                for i in range(at, at + size):
                    pool.own(events[i])
                    span.body[0] = 0
                    reader.fill(&span, i, 1, times.layout.words, 0, 1)
                    if span.body[0]:
                        self.refuse_row(i, f"column '{times.layout.names[0]}' is null; an event needs a time")
                    events[i].timestamp = <int64_t> span.body[times.layout.words]
                    try:
                        check_time(self.events.rows, events[i].timestamp)
                    except EventError as error:
                        error.args = (f"{error}; it is row {i} of {n}; no row of the batch was inserted",)
                        raise
                at += size
        finally:
            release(time_pool, span)
        return 0

    cdef int refuse_row(self, Py_ssize_t row, what) except -1:
        error = InvalidTemporalEvent(f"stream '{self.stream}', row {row}: {what}; no row of the batch was inserted")
        error.rows_taken = 0
        raise error

    def __repr__(self):
        return f"CorrectedInputHandler({self.stream!r})"
