"""Input handler of a temporal stream."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int64_t, uint64_t

from siddhi._core.columnar.reader cimport ColumnReader, Columns, read_columns
from siddhi._core.columnar.source cimport ColumnSource, KeyedSource, open_source
from siddhi._core.record.event cimport BORROWED, LONG, EventC, EventPool, Layout, acquire, release
from siddhi._core.record.frame cimport FrameC
from siddhi._core.record.instant cimport read_instant
from siddhi._core.record.user_event cimport Event
from siddhi._core.runtime.context cimport AppContext, restore_frame, save_frame
from siddhi._core.runtime.lock cimport is_nested, unlock_app
from siddhi._core.runtime.sampler cimport SampleSite, SpanC, begin_unit, end_unit, profiling, siddhi_ticks
from siddhi._core.stream.batches cimport BatchSender
from siddhi._core.stream.junction cimport StreamJunction
from siddhi._core.stream.rows cimport parse_row
from siddhi._core.stream.sender cimport (
    NOT_PROFILED, AwaitedSends, EventSender, SentUnitC, begin_sent, end_sent, enter, site_of_sender,
)
from siddhi._core.temporal.ingress cimport (
    EDGE, ERROR, FORM_END, FORM_INTERVAL, FORM_POINT, FORM_RETRACT, FORM_START, POINT, TemporalIngress, text_of,
)
from siddhi._core.temporal.lifetime cimport TIME_MAX, TIME_MIN
from siddhi._core.columnar.row_columns import columns_of_rows
from siddhi._core.record.user_event import names_in
from siddhi.errors import CtiViolation, EventError, InvalidTemporalEvent, shown

from datetime import datetime, timezone
from operator import index

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef enum:
    BLOCK = 128                    # rows of a batch that are read at a time
    WHOLE = 8 * BLOCK              # rows of a batch whose time is measured as a whole while its app is profiled

cdef enum:
    FORM_CARRIED = 5               # attributes of the row carry the lifetime

cdef struct SentItemC:
    EventC* event
    int64_t start
    int64_t end
    int form

cdef object EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


cdef int64_t time_of(str stream, value, str what) except? -1:
    """Return a time in ms: an int, also of numpy, a datetime with a zone, or a numpy.datetime64."""
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise InvalidTemporalEvent(
                f"stream '{stream}': the {what} {value} has no time zone; "
                "use datetime.now(timezone.utc), or milliseconds since 1970")
        delta = value - EPOCH
        return delta.days * 86_400_000 + delta.seconds * 1000 + delta.microseconds // 1000
    if type(value).__name__ == "datetime64" and type(value).__module__ == "numpy":
        try:
            return read_instant(value, what)
        except ValueError as error:
            raise InvalidTemporalEvent(f"stream '{stream}': {error}") from None
    if not isinstance(value, int) and hasattr(value, "__index__"):
        try:
            value = index(value)
        except TypeError:
            pass                   # an array, or a bool, of numpy
    if isinstance(value, int) and not isinstance(value, bool):
        if TIME_MIN <= value <= TIME_MAX:
            return value
        raise InvalidTemporalEvent(
            f"stream '{stream}': the {what} {value} is outside the time axis; "
            "times are milliseconds since 1970 between temporal.MIN and temporal.MAX")
    raise EventError(
        f"stream '{stream}': the {what} must be milliseconds since 1970, a datetime with a time zone or a numpy.datetime64, "
        f"not {shown(value)}")


cdef inline bint is_null(const EventC* event, int position) noexcept:
    return event.body[position >> 6] >> (position & 63) & 1


cdef inline void set_time(EventC* event, int words, int position, int64_t time) noexcept:
    """Set an attribute that is null."""
    event.body[position >> 6] &= ~((<uint64_t> 1) << (position & 63))
    event.body[words + position] = <uint64_t> time


cdef str name_of(times):
    """Return how messages call a column of times, which is given by its name or as such."""
    return times if isinstance(times, str) else "timestamp"


cdef ColumnSource open_table(str stream, table, Layout layout, tuple times):
    """Return a table as a source of columns, which can be read more than once.

    Args:
        stream: name of the stream, for messages.
        table: a table of any kind, a list of rows, or a source.
        layout: of the rows.
        times: columns of times that a list of rows must have, too.

    Raises:
        EventError: it is not a table.
    """
    cdef dict columns
    try:
        if isinstance(table, (list, tuple)):
            columns = columns_of_rows(table, layout.names, None)
            for name in times:
                if isinstance(name, str) and name not in columns:
                    columns.update(columns_of_rows(table, layout.names, name))
            return open_source(columns)
        return open_source(table)
    except (ValueError, TypeError) as error:
        raise EventError(f"stream '{stream}': {error}") from error


cdef tuple read_table(str stream, table, Layout layout, tuple times):
    """Return the columns of the attributes and those of the times, which are ms since 1970.

    Args:
        stream: name of the stream, for messages.
        table: a table of any kind, a list of rows, or a source.
        layout: of the rows.
        times: names of columns of the table, or columns.

    Raises:
        EventError: a column is missing, has another length, or does not fit.
    """
    cdef ColumnSource source = open_table(stream, table, layout, times)
    cdef Columns rows, spans = None, other
    cdef tuple names = tuple([name_of(column) for column in times])
    try:
        rows = read_columns(source, layout, None)
        for column in times:
            other = read_columns(times_in(stream, source, column), Layout((name_of(column),), (LONG,)), None)
            if spans is None:
                spans = other
            elif spans.length == other.length:
                spans.readers += other.readers
            else:
                raise ValueError(f"there are {spans.length} times in '{names[0]}', but {other.length} in '{names[1]}'")
        if layout.width and rows.length != spans.length:
            raise ValueError(f"there are {spans.length} times in '{names[0]}' for {rows.length} rows")
    except (ValueError, TypeError) as error:
        if isinstance(error, (EventError, InvalidTemporalEvent)):
            raise
        raise EventError(f"stream '{stream}': {error}") from error
    spans.layout = Layout(names, (LONG,) * len(names))
    return rows, spans


cdef object times_in(str stream, ColumnSource source, column):
    """Return a table with a column of times, which is given by its name or as such; lists may hold datetimes."""
    cdef str name = name_of(column)
    if isinstance(column, str):
        if column not in source.names:
            raise ValueError(f"no column '{column}' for the times of the rows; the data has: "
                             f"{', '.join([str(other) for other in source.names]) or 'none'}")
        if not isinstance(source, KeyedSource):
            return source
        column = (<KeyedSource> source).columns[column]
    if isinstance(column, (list, tuple)):
        column = [None if value is None else time_of(stream, value, f"time in column '{name}'") for value in column]
    return {name: column}


cdef int read_block(Columns columns, EventC** events, Py_ssize_t at, Py_ssize_t n) except -1:
    """Fill records, whose null words are clear, with rows."""
    cdef int i
    cdef ColumnReader reader
    for i in range(columns.layout.width):
        reader = columns.readers[i]
        reader.fill(events, at, n, columns.layout.words + i, i >> 6, (<uint64_t> 1) << (i & 63))
    return 0


cdef int read_rows(Columns columns, EventPool pool, EventC** events, Py_ssize_t* made, Py_ssize_t at,
                   Py_ssize_t n) except -1:
    """Make records, which borrow the objects of the columns, and fill them with rows."""
    cdef int word
    while made[0] < n:
        events[made[0]] = acquire(pool)
        events[made[0]].flags = BORROWED
        for word in range(pool.layout.words):
            events[made[0]].body[word] = 0
        made[0] += 1
    return read_block(columns, events, at, n)


cdef void release_rows(EventPool pool, EventC** events, Py_ssize_t* made) noexcept:
    while made[0]:
        made[0] -= 1
        release(pool, events[made[0]])


cdef SampleSite site_here(EventSender events):
    """Return where the units of a sender are sampled; None: they are not, or this is a part of the unit that sends."""
    cdef SampleSite site = site_of_sender(events) if profiling.sites is not NULL else None
    if site is not None and is_nested(events.app.lock) and profiling.open and not site.sampler.sampling:
        return None
    return site


@cython.final
cdef class TemporalInputHandler(AwaitedSends):
    """Sends events with lifetimes, and CTIs, into one temporal stream. Returned by ``runtime.input_handler(stream)``.

    Times are milliseconds since 1970 or datetimes with a time zone. An item that is refused has no effect. Every method
    that sends raises

    * :class:`siddhi.errors.CtiViolation`: the item is before the CTI, and the policy of the stream is 'error';
    * :class:`siddhi.errors.InvalidTemporalEvent`: the lifetime is empty, the form is not one of the stream's model, or an
      END or RETRACT has no lifetime to change;
    * :class:`siddhi.errors.EventError`: the row does not fit the stream;
    * :class:`siddhi.errors.NotRunningError`: the app is not running.

    Args:
        app: context of the app.
        junction: gives the layout of the rows.
        ingress: of the stream.
        start_at: position of the attribute with the start; -1: the start is the timestamp.
        end_at: position of the attribute with the end; null there is an end that is not known. -1: there is none.
        checks: whether these attributes have to be equal to the times of an item; null ones are filled in.
    """

    cdef TemporalIngress ingress
    cdef int start_at
    cdef int end_at
    cdef bint checks

    def __init__(self, AppContext app not None, StreamJunction junction not None, TemporalIngress ingress not None,
                 int start_at=-1, int end_at=-1, bint checks=True):
        self.events = EventSender(app, junction)
        self.ingress = ingress
        self.start_at = start_at
        self.end_at = end_at
        self.checks = checks and (start_at >= 0 or end_at >= 0)

    def rebind(self, TemporalInputHandler other not None):
        """Redirect to the stream of another handler with the same attributes; see ``InputHandler.rebind``."""
        self.events.bind(other.events.app, other.events.junction)
        self.ingress = other.ingress

    @property
    def stream(self):
        """Name of the stream."""
        return self.events.junction.id

    @property
    def cti_time(self):
        """The current CTI; ``siddhi.temporal.MIN`` before the first."""
        return self.ingress.accepting().cti

    @property
    def dropped(self):
        """Number of items dropped by the policy: late ones, and ENDs and RETRACTs without a lifetime."""
        return self.ingress.accepting().dropped

    @property
    def adjusted(self):
        """Number of late items whose start was moved to the CTI."""
        return self.ingress.accepting().adjusted

    def insert(self, start, end, row):
        """Insert a row that is valid from ``start`` until before ``end``."""
        self.send_item(FORM_INTERVAL, time_of(self.stream, start, "start"), time_of(self.stream, end, "end"), 0, row)

    def point(self, start, row):
        """Insert a row that is valid for one millisecond."""
        cdef int64_t time = time_of(self.stream, start, "start")
        self.send_item(FORM_POINT, time, time if time == TIME_MAX else time + 1, 0, row)

    def start_edge(self, start, row):
        """Insert a row that is valid from ``start`` on; its end follows."""
        self.send_item(FORM_START, time_of(self.stream, start, "start"), TIME_MAX, 0, row)

    def end_edge(self, start, end, row):
        """End the row that began at ``start``."""
        self.send_item(FORM_END, time_of(self.stream, start, "start"), TIME_MAX, time_of(self.stream, end, "end"), row)

    def retract(self, start, end, new_end, row):
        """Move the end of a row; ``new_end == start`` removes it."""
        self.send_item(FORM_RETRACT, time_of(self.stream, start, "start"), time_of(self.stream, end, "end"),
                   time_of(self.stream, new_end, "new end"), row)

    def cti(self, time):
        """Promise that nothing before ``time`` follows; one at or before the current CTI has no effect."""
        self.enter_cti(time_of(self.stream, time, "CTI"))

    def send(self, row, timestamp=None):
        """Insert a row with the lifetime that its ``start`` and ``end`` attributes carry.

        Args:
            row: as elsewhere; an :class:`siddhi.Event` has a timestamp of its own.
            timestamp: the start, if no attribute carries it.
        """
        self.send_item(FORM_CARRIED, self.start_given(row, timestamp), TIME_MAX, 0, row)

    def send_events(self, events):
        """Insert :class:`siddhi.Event` objects, as :meth:`send`.

        Raises:
            EventError, InvalidTemporalEvent: of an event; none has been inserted.
            CtiViolation: of an event; none has been inserted, or, if CTIs come with the events before it, ``rows_taken``.
        """
        cdef list items = list(events)
        cdef list starts = []
        cdef AppContext app
        cdef FrameC frame
        for event in items:
            if not isinstance(event, Event):
                raise EventError(f"stream '{self.stream}': expected Event objects, got {shown(event)}")
            starts.append(self.start_given(event, None))
        enter(self.events)
        app = self.events.app
        frame = save_frame(app)
        try:
            if not app.running:
                self.events.refuse_not_running()
            self.insert_items(items, starts)
        finally:
            restore_frame(app, &frame)
            unlock_app(app.lock)

    def send_batch(self, table, timestamp=None):
        """Insert the rows of a table with the lifetimes that attributes carry.

        Args:
            table: as for :meth:`insert_batch`.
            timestamp: name of the column of the starts, or that column, if no attribute carries them.
        """
        cdef tuple names = self.events.junction.layout.names
        if self.ingress.model != POINT and self.end_at < 0 and self.start_at < 0:
            raise InvalidTemporalEvent(
                f"stream '{self.stream}': send_batch() gives no lifetimes; send columns with insert_batch(), or declare the "
                "attributes that carry them: @temporal(start = '...', end = '...')")
        if self.start_at >= 0:
            if timestamp is not None:
                raise InvalidTemporalEvent(
                    f"stream '{self.stream}': attribute '{names[self.start_at]}' carries the start; leave out the timestamp")
            timestamp = names[self.start_at]
        if timestamp is None:
            raise InvalidTemporalEvent(
                f"stream '{self.stream}': the rows need a start; write send_batch(table, timestamp=...) with the name of a "
                "column, or the times")
        if self.ingress.model == POINT:
            self.insert_table(table, (timestamp,), FORM_POINT, TIME_MIN)
        elif self.end_at < 0:
            self.insert_table(table, (timestamp,), FORM_START, TIME_MIN)
        else:
            self.insert_table(table, (timestamp, names[self.end_at]), FORM_CARRIED, TIME_MIN)

    def insert_batch(self, table, *, start="start", end=None, cti=None):
        """Insert the rows of a table, as row by row, then send a CTI.

        Args:
            table: what ``send_batch`` of a classical stream takes: a data frame, anything that exports Arrow, a numpy
                structured array, or a mapping of names to arrays or lists.
            start: name of the column of the starts, or that column: milliseconds since 1970, or times.
            end: the same for the ends; None: the column ``end``, unless an attribute has this name or the stream
                has points only; without it the rows are points.
            cti: the CTI after the rows; None: none.

        Raises:
            EventError, InvalidTemporalEvent: a column is missing or does not fit its attribute, or a row has no valid
                lifetime; nothing has been inserted.
            CtiViolation: of a row; nothing has been inserted, or, if CTIs come with the rows before it (``@advance``), the
                first ``rows_taken`` rows.
        """
        if not isinstance(table, (list, tuple)):
            table = open_table(self.stream, table, self.events.junction.layout, ())
        if end is None and self.ingress.model != POINT and self.has_ends(table):
            end = "end"
        cdef tuple times = (start,) if end is None else (start, end)
        self.insert_table(table, times, FORM_POINT if end is None else FORM_INTERVAL,
                          TIME_MIN if cti is None else time_of(self.stream, cti, "CTI"))

    cdef bint has_ends(self, table) except -1:
        """Return whether a source or a list of rows has a column ``end`` beside those of the attributes."""
        if "end" in self.events.junction.layout.names:
            return False
        if isinstance(table, ColumnSource):
            return "end" in (<ColumnSource> table).names
        return len(table) > 0 and "end" in dict(names_in(table[0]) or ())

    cdef int insert_table(self, table, tuple times, int form, int64_t cti) except -1:
        """Insert the rows of a table, then send a CTI; MIN: none.

        Args:
            table: a table of any kind.
            times: the starts, and the ends if there are any: names of columns, or columns.
            form: of the rows. FORM_CARRIED: a null end is not known.
            cti: the CTI.
        """
        cdef Columns rows, spans
        rows, spans = read_table(self.stream, table, self.events.junction.layout, times)
        enter(self.events)
        try:
            self.insert_columns(rows, spans, spans.layout.names, form, cti)
        finally:
            unlock_app(self.events.app.lock)
        return 0

    cdef int insert_columns(self, Columns rows, Columns times, tuple names, int form, int64_t cti) except -1:
        """Check the lifetimes of all rows, and insert the rows block by block, then send a CTI; MIN: none.

        The app's lock must be held.
        """
        cdef AppContext app = self.events.app
        cdef FrameC frame = save_frame(app)
        cdef EventPool pool = self.events.rows.pool, time_pool = EventPool(times.layout)
        cdef EventC* block[BLOCK]
        cdef EventC* spans[BLOCK]
        cdef Py_ssize_t at = 0, n, i, taken = 0, made = 0, spans_made = 0
        cdef int shape
        cdef int64_t start, end
        cdef bint outermost = not app.in_batch, begun = False
        cdef SampleSite site = site_here(self.events)
        cdef SampleSite blocks = None if site is None else site.blocks
        cdef SpanC span
        cdef int unit = 0
        cdef int64_t checking = 0 if site is None else siddhi_ticks()
        cdef bint whole = False
        try:
            if not app.running:
                self.events.refuse_not_running()
            app.in_batch = True
            n = min(<Py_ssize_t> BLOCK, times.length)
            while spans_made < n:
                spans[spans_made] = acquire(time_pool)
                spans_made += 1
            while at < times.length:
                n = min(<Py_ssize_t> BLOCK, times.length - at)
                for i in range(n):
                    spans[i].body[0] = 0
                read_block(times, spans, at, n)
                for i in range(n):
                    if spans[i].body[0] & 1 or spans[i].body[0] and form != FORM_CARRIED:
                        self.refuse_row(
                            at + i, f"column '{names[spans[i].body[0] != 1]}' is null", "a lifetime needs a time")
                    shape = self.lifetime_of(spans[i], form, &start, &end)
                    self.check_row(at + i, times.length, start, end, shape)
                if self.checks and form != FORM_CARRIED:
                    read_rows(rows, pool, block, &made, at, n)
                    for i in range(n):
                        self.lifetime_of(spans[i], form, &start, &end)
                        self.match_times(block[i], form, start, end, 0, at + i)
                    release_rows(pool, block, &made)
                at += n
            at = 0
            begun = True
            if site is not None:
                site.add_reading(siddhi_ticks() - checking, NULL)
                site.more_rows += times.length
                whole = times.length >= WHOLE and not is_nested(app.lock)
            if whole:
                blocks.begin_whole()
            while at < times.length:
                n = min(<Py_ssize_t> BLOCK, times.length - at)
                if blocks is not None:
                    unit = begin_unit(blocks, &span)
                try:
                    read_rows(rows, pool, block, &made, at, n)
                    for i in range(n):
                        spans[i].body[0] = 0
                    read_block(times, spans, at, n)
                    for i in range(n):
                        shape = self.lifetime_of(spans[i], form, &start, &end)
                        if self.checks and form != FORM_CARRIED:
                            self.match_times(block[i], form, start, end, 0, at + i)
                        block[i].timestamp = start
                        self.ingress.insert(start, end, block[i], shape)
                        taken += 1
                    release_rows(pool, block, &made)
                finally:
                    if blocks is not None:
                        end_unit(blocks, &span, unit)
                PyErr_CheckSignals()
                app.raise_deferred()
                at += n
            if whole:
                whole = False
                blocks.end_whole()
            if cti != TIME_MIN:
                self.advance(cti, site)
        except BaseException as error:
            if begun:
                self.note_taken(error, taken, times.length)
            raise
        finally:
            if whole:
                blocks.end_whole()
            release_rows(pool, block, &made)
            while spans_made:
                spans_made -= 1
                release(time_pool, spans[spans_made])
            restore_frame(app, &frame)
            if outermost:
                app.in_batch = False
                BatchSender(self.events).flush_callbacks()
        return 0

    cdef int lifetime_of(self, const EventC* span, int form, int64_t* start, int64_t* end) noexcept:
        """Read the lifetime of a row of a batch; return its form."""
        start[0] = <int64_t> span.body[1]
        if form == FORM_POINT:
            end[0] = start[0] if start[0] == TIME_MAX else start[0] + 1
        elif form == FORM_START or span.body[0]:
            end[0] = TIME_MAX
        else:
            end[0] = <int64_t> span.body[2]
        return self.shape_of(end[0]) if form == FORM_CARRIED else form

    cdef int refuse_row(self, Py_ssize_t row, what, hint) except -1:
        error = InvalidTemporalEvent(
            f"stream '{self.stream}', row {row}: {what}; {hint}; no row of the batch was inserted")
        error.rows_taken = 0
        raise error

    cdef int check_row(self, Py_ssize_t row, Py_ssize_t rows, int64_t start, int64_t end, int form) except -1:
        """Check a row of a batch before any is inserted."""
        cdef TemporalIngress accepting = self.ingress.accepting()
        cdef tuple fault = accepting.fault_of(start, end, form)
        if fault is not None:
            self.refuse_row(row, fault[0], fault[1])
        # What is late in the buffer of an @async stream is found when it is delivered.
        if accepting is self.ingress and accepting.policy == ERROR and accepting.is_late(start, end, form):
            raise CtiViolation(self.stream, f"row {row} with start {text_of(start)}", accepting.cti, None, 0, rows)
        return 0

    cdef int note_taken(self, error, Py_ssize_t taken, Py_ssize_t rows) except -1:
        """Say in an error how many rows of the batch had been inserted."""
        if (isinstance(error, CtiViolation) and error.stream == self.stream and error.place is None
                and error.rows_taken is None):
            raise CtiViolation(error.stream, f"row {taken} ({error.item})", error.cti, None, taken, rows) from None
        if hasattr(error, "add_note"):
            error.add_note(f"stream '{self.stream}' had taken the first {taken} of {rows} rows when this happened")
        return 0

    cdef int insert_items(self, list items, list starts) except -1:
        """Check events, and insert them. The app's lock must be held."""
        cdef Py_ssize_t n = len(items), made = 0, at = 0
        cdef SentItemC* found = <SentItemC*> PyMem_Calloc(max(1, n), sizeof(SentItemC))
        cdef SentItemC* item
        cdef bint begun = False
        if found is NULL:
            raise MemoryError
        try:
            while made < n:
                item = &found[made]
                item.event = parse_row(self.events.rows, items[made])
                made += 1
                item.start, item.end = starts[made - 1], TIME_MAX
                item.form = self.read_lifetime(item.event, &item.start, &item.end)
                item.event.timestamp = item.start
                self.check_row(made - 1, n, item.start, item.end, item.form)
            begun = True
            while at < n:
                self.insert_one(&found[at])
                at += 1
        except BaseException as error:
            if begun:
                self.note_taken(error, at, n)
            raise
        finally:
            for at in range(made):
                release(self.events.rows.pool, found[at].event)
            PyMem_Free(found)
        return 0

    cdef int insert_one(self, const SentItemC* item) except -1:
        """Insert an item: a unit of work while the app is profiled."""
        cdef SentUnitC unit
        unit.kind = NOT_PROFILED
        if profiling.sites is not NULL:
            begin_sent(self.events, is_nested(self.events.app.lock), &unit)
        try:
            return self.ingress.insert(item.start, item.end, item.event, item.form)
        finally:
            if unit.kind:
                end_sent(&unit)

    cdef int send_item(self, int form, int64_t start, int64_t end, int64_t new_end, row) except -1:
        """Send one item under the lock of the app."""
        cdef EventC* event
        cdef EventPool pool
        cdef AppContext app
        cdef FrameC frame
        cdef SentUnitC unit
        unit.kind = NOT_PROFILED
        enter(self.events)
        app = self.events.app
        if profiling.sites is not NULL:
            begin_sent(self.events, is_nested(app.lock), &unit)
        frame = save_frame(app)
        try:
            if not app.running:
                self.events.refuse_not_running()
            pool = self.events.rows.pool
            event = parse_row(self.events.rows, row)
            try:
                if form == FORM_CARRIED:
                    form = self.read_lifetime(event, &start, &end)
                elif self.checks:
                    self.match_times(event, form, start, end, new_end, -1)
                event.timestamp = start
                if form <= FORM_START:
                    self.ingress.insert(start, end, event, form)
                else:
                    self.ingress.retract(start, end, new_end, event, form == FORM_END)
            finally:
                release(pool, event)
        finally:
            if unit.kind:
                end_sent(&unit)
            restore_frame(app, &frame)
            unlock_app(app.lock)
        return 0

    cdef int match_times(self, EventC* event, int form, int64_t start, int64_t end, int64_t new_end,
                         Py_ssize_t row) except -1:
        """Compare the attributes that carry times with the times of the item, and fill in null ones.

        An edge stream leaves the end null, since it may move: a START has none yet, and an END repeats the row of its START.

        Args:
            row: number of the row in its batch; -1: it was sent alone.
        """
        cdef int words = self.events.rows.pool.layout.words
        cdef int64_t value
        if self.start_at >= 0:
            if is_null(event, self.start_at):
                set_time(event, words, self.start_at, start)
            elif <int64_t> event.body[words + self.start_at] != start:
                self.refuse_time(event, self.start_at, "start", start, row)
        if self.end_at < 0:
            return 0
        if is_null(event, self.end_at):
            if self.ingress.model != EDGE and end != TIME_MAX:
                set_time(event, words, self.end_at, end)
            return 0
        value = <int64_t> event.body[words + self.end_at]
        if form == FORM_END and value == new_end and value != TIME_MAX:
            event.body[self.end_at >> 6] |= (<uint64_t> 1) << (self.end_at & 63)
            event.body[words + self.end_at] = 0
        elif value != end:
            self.refuse_time(event, self.end_at, "end", new_end if form == FORM_END else end, row)
        return 0

    cdef int refuse_time(self, EventC* event, int position, str which, int64_t given, Py_ssize_t row) except -1:
        cdef Layout layout = self.events.rows.pool.layout
        place = f"stream '{self.stream}'" if row < 0 else f"stream '{self.stream}', row {row}"
        raise InvalidTemporalEvent(
            f"{place}: attribute '{layout.names[position]}' carries the {which} and is "
            f"{text_of(<int64_t> event.body[layout.words + position])}, but the {which} given is {text_of(given)}; make "
            f"them equal, or the attribute null{'' if row < 0 else '; no row of the batch was inserted'}")

    cdef int64_t start_given(self, row, timestamp) except? -1:
        """Return the start that a row of send() is given; MIN: an attribute carries it."""
        if self.ingress.model != POINT and self.start_at < 0 and self.end_at < 0:
            raise InvalidTemporalEvent(
                f"stream '{self.stream}': send() gives no lifetime; use insert(start, end, row) or point(start, row), "
                "or declare the attributes that carry it: @temporal(start = '...', end = '...')")
        if self.start_at < 0:
            if timestamp is None and isinstance(row, Event):
                timestamp = row.timestamp
            if timestamp is None:
                raise InvalidTemporalEvent(
                    f"stream '{self.stream}': a row needs a start; write send(row, timestamp=...)")
            return time_of(self.stream, timestamp, "timestamp")
        if timestamp is not None:
            raise InvalidTemporalEvent(
                f"stream '{self.stream}': attribute '{self.events.junction.layout.names[self.start_at]}' carries the "
                "start; leave out the timestamp")
        return TIME_MIN

    cdef int shape_of(self, int64_t end) noexcept:
        """Return the form of a row whose attributes carry its lifetime."""
        return FORM_START if end == TIME_MAX and self.ingress.model == EDGE else FORM_INTERVAL

    cdef int read_lifetime(self, EventC* event, int64_t* start, int64_t* end) except -1:
        """Read the lifetime that attributes carry; return the form of the row."""
        cdef int words = self.events.rows.pool.layout.words
        if self.start_at >= 0:
            if event.body[self.start_at >> 6] >> (self.start_at & 63) & 1:
                raise InvalidTemporalEvent(
                    f"stream '{self.stream}': attribute '{self.events.junction.layout.names[self.start_at]}' is null; "
                    "a lifetime needs a start")
            start[0] = <int64_t> event.body[words + self.start_at]
        if self.ingress.model == POINT:
            end[0] = start[0] if start[0] == TIME_MAX else start[0] + 1
            return FORM_POINT
        if self.end_at >= 0 and not event.body[self.end_at >> 6] >> (self.end_at & 63) & 1:
            end[0] = <int64_t> event.body[words + self.end_at]
        return self.shape_of(end[0])

    cdef int advance(self, int64_t time, SampleSite site) except -1:
        """Move the CTI: a unit of its own while the app is profiled, since it releases what many items have left."""
        cdef SpanC span
        cdef int unit
        if site is None:
            return self.ingress.cti_at(time)
        unit = begin_unit(site.flushes, &span)
        try:
            return self.ingress.cti_at(time)
        finally:
            end_unit(site.flushes, &span, unit)

    cdef int enter_cti(self, int64_t time) except -1:
        cdef AppContext app
        cdef FrameC frame
        enter(self.events)
        app = self.events.app
        frame = save_frame(app)
        try:
            if not app.running:
                self.events.refuse_not_running()
            self.advance(time, site_here(self.events))
        finally:
            restore_frame(app, &frame)
            unlock_app(app.lock)
        return 0
