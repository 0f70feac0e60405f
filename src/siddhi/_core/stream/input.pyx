"""The input handler: Python rows and columns become records, and the records are sent.

A row is checked completely before anything is done with it: a refused row leaves the engine as it was.
"""

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XINCREF
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint64_t, uint8_t

import logging

from siddhi._core.columnar.reader cimport ColumnReader, Columns, read_columns
from siddhi._core.columnar.source cimport column_with_nan
from siddhi._core.record.chunk cimport EventChunk, chunk_append, chunk_clear, chunk_release
from siddhi._core.record.event cimport (
    BORROWED, CURRENT, DOUBLE, LONG, OBJECT, STRING, CellC, EventC, EventPool, Layout, acquire, cell_from_python,
    release,
)
from siddhi._core.record.frame cimport MAX_BLOCK, FrameC, live_ms, system_ms
from siddhi._core.record.instant cimport is_usual
from siddhi._core.record.user_event cimport Event, read_timestamp, row_values
from siddhi._core.runtime.context cimport AppContext, advance, put_frame_back, set_frame_aside
from siddhi._core.runtime.lock cimport AppLock, is_nested, lock_app, unlock_app
from siddhi._core.stream.junction cimport RowSource, StreamJunction, send
from siddhi.errors import EventError, NotRunningError, shown

_log = logging.getLogger("siddhi")

cdef extern from "Python.h":
    bint PyUnicode_CheckExact(object value)
    bint PyLong_CheckExact(object value)
    int PyErr_CheckSignals() except -1

# Python's own conversion of a time stamp, an int of two digits, costs more than a filter query: read the digits.
cdef extern from *:
    """
    static inline int64_t siddhi_int64(PyObject *value, int *overflow)
    {
    #if PY_VERSION_HEX < 0x030C0000 && PYLONG_BITS_IN_DIGIT == 30
        const digit *digits = ((PyLongObject *)value)->ob_digit;
        Py_ssize_t size = Py_SIZE(value);
        if ((size_t)size <= 2) {
            if (size == 2) return (int64_t)digits[0] | ((int64_t)digits[1] << 30);
            return size == 0 ? 0 : (int64_t)digits[0];
        }
    #endif
        return PyLong_AsLongLongAndOverflow(value, overflow);
    }
    """
    int64_t siddhi_int64(object value, int* overflow) except? -1

cdef enum:
    BLOCK = MAX_BLOCK // 2         # rows of a batch that are filled at a time: their records stay in the cache

cdef uint64_t ALL = <uint64_t> 0 - 1


@cython.final
cdef class InputHandler(RowSource):
    """Sends events into one stream. Got from ``runtime.input_handler(stream)``; may be used from many threads.

    An app handles one send at a time; a callback may send again, which is handled at once, inside the send it was
    called from. Before ``start()`` and after ``shutdown()`` sending raises :class:`siddhi.errors.NotRunningError`; when
    the app is started again, the handler sends into it again.
    """

    cdef AppContext app
    cdef StreamJunction junction
    cdef EventPool pool
    cdef Layout layout
    cdef uint8_t* codes                # the layout's, at hand
    cdef int width
    cdef int words
    # Of the current block: its rows, from which one, into which records, and the attributes that were left out.
    cdef Columns columns
    cdef Py_ssize_t first
    cdef EventC** block
    cdef Py_ssize_t block_size
    cdef uint64_t unread
    cdef bint told_of_nan

    def __init__(self, AppContext app not None, StreamJunction junction not None):
        self.bind(app, junction)

    cdef void bind(self, AppContext app, StreamJunction junction) noexcept:
        self.app = app
        self.junction = junction
        self.pool = junction.pool
        self.layout = junction.layout
        self.codes = self.layout.codes
        self.width = self.layout.width
        self.words = self.layout.words

    def rebind(self, InputHandler other not None):
        """Send where another handler of a stream of these attributes sends. The lock of the app that it sent into until now
        is held, by one who is not at work in it."""
        self.bind(other.app, other.junction)

    cdef int enter(self) except -1:
        """Lock the app."""
        cdef AppLock lock = self.app.lock
        lock_app(lock)
        while lock is not self.app.lock:  # it was bound anew while this thread waited
            unlock_app(lock)
            lock = self.app.lock
            lock_app(lock)
        return 0

    @property
    def stream(self):
        """Name of the stream."""
        return self.junction.id

    def send(self, row, timestamp=None):
        """Send one event.

        Args:
            row: the values (None is null). A tuple, a list, an :class:`Event` or another iterable without names gives
                them in attribute order. A mapping, a named tuple, a record of numpy, a row of sqlite3, SQLAlchemy or
                Spark, or a pandas Series gives them by attribute name, and has exactly these names. Sets are refused.
            timestamp: ms since the epoch. Without it the event is stamped with the system's clock, and in playback the
                app's clock does not move.

        Raises:
            EventError: the row does not fit the stream (arity, names, type or range); nothing has happened.
            NotRunningError: the app is not running.
        """
        cdef EventC* event
        cdef EventChunk chunk
        cdef int64_t time
        cdef int overflow = 0
        cdef bint stamped = True, inside
        cdef FrameC frame
        if timestamp is None:
            if isinstance(row, Event):
                time = (<Event> row).timestamp
                row = (<Event> row).load()
            else:
                time = self.untimed()
                stamped = False
        elif PyLong_CheckExact(timestamp):
            time = siddhi_int64(timestamp, &overflow)
            if overflow != 0:
                self.time_of(timestamp)
        else:
            time = self.time_of(timestamp)
        if stamped and not is_usual(self.junction.times, time):
            self.look_at(time)
        self.enter()
        inside = self.app.lock.depth > 1 or self.app.lock.lent is not None
        if inside:
            frame = set_frame_aside(self.app)
        try:
            if not self.app.running:
                self.refuse_not_running()
            event = self.read_row(row)
            event.timestamp = time
            chunk.head = event
            chunk.tail = event
            try:
                if stamped and self.app.frame.playback:
                    advance(self.app, time)
                send(self.junction, &chunk)
            finally:
                release(self.pool, event)
        finally:
            if inside:
                put_frame_back(self.app, &frame)
            unlock_app(self.app.lock)

    cdef inline int64_t untimed(self) noexcept:
        """The time of an event that is sent without one."""
        return system_ms() if self.app.frame.playback else live_ms(&self.app.frame)

    cdef int look_at(self, int64_t time) except -1:
        """Refuse a timestamp that is out of range; warn of one in another unit."""
        try:
            return self.junction.times.look(time)
        except ValueError as error:
            raise EventError(f"stream '{self.junction.id}': {error}") from None

    cdef int64_t time_of(self, timestamp) except? -1:
        try:
            return read_timestamp(timestamp)
        except EventError as error:
            raise EventError(f"stream '{self.junction.id}': {error}") from None

    cdef int refuse_not_running(self) except -1:
        raise NotRunningError(f"Siddhi app '{self.app.name}' is not running, cannot send event to '{self.junction.id}'")

    cdef EventC* read_row(self, row) except NULL:
        """A record of the row's values; the caller owns it."""
        cdef int i
        cdef PyObject* value
        cdef EventC* event
        cdef CellC* cell
        cdef uint8_t code
        cdef int overflow = 0
        if not PyTuple_CheckExact(row):
            row = self.values_of(row)
        if PyTuple_GET_SIZE(row) != self.width:
            raise EventError(
                f"stream '{self.junction.id}' has {self.width} attributes ({', '.join(self.layout.names)}), "
                f"the row has {PyTuple_GET_SIZE(row)} values: {shown(row)}")
        event = acquire(self.pool)
        for i in range(self.words):
            event.body[i] = 0
        cell = <CellC*> &event.body[self.words]
        for i in range(self.width):
            value = <PyObject*> PyTuple_GET_ITEM(row, i)
            code = self.codes[i]
            # The commonest cases stand here; cell_from_python knows all.
            if code == DOUBLE and PyFloat_CheckExact(<object> value):
                cell.d = PyFloat_AS_DOUBLE(<object> value)
            elif code == STRING and PyUnicode_CheckExact(<object> value):
                Py_INCREF(<object> value)
                cell.o = value
            elif code == LONG and PyLong_CheckExact(<object> value):
                cell.l = siddhi_int64(<object> value, &overflow)
                if overflow != 0:
                    self.read_value(event, i, <object> value)
            else:
                self.read_value(event, i, <object> value)
            cell += 1
        return event

    cdef int read_value(self, EventC* event, int position, object value) except -1:
        """Write one value; a refusal gives the record back."""
        try:
            return cell_from_python(event, self.layout, position, value)
        except Exception as error:
            release(self.pool, event)
            raise EventError(f"stream '{self.junction.id}': {error}") from None
        except BaseException:
            release(self.pool, event)
            raise

    cdef tuple values_of(self, row):
        if isinstance(row, Event):
            return (<Event> row).load()
        try:
            return row_values(row, self.layout.names)
        except EventError as error:
            raise EventError(f"stream '{self.junction.id}': {error}") from None

    def send_events(self, events):
        """Send several events as one chunk (queries see a batch; see reference: arrays).

        Args:
            events: :class:`Event` objects. In playback the clock moves to the timestamp of the last one first.

        Raises:
            EventError: one of the rows does not fit the stream, or there are none; nothing has happened.
            NotRunningError: the app is not running.
        """
        cdef EventChunk chunk
        cdef EventC* record
        cdef Event event
        cdef bint inside
        cdef FrameC frame
        events = list(events)
        chunk_clear(&chunk)
        self.enter()
        inside = self.app.lock.depth > 1 or self.app.lock.lent is not None
        if inside:
            frame = set_frame_aside(self.app)
        try:
            if not self.app.running:
                self.refuse_not_running()
            if not events:
                raise EventError(f"stream '{self.junction.id}': no events to send")
            for item in events:
                if not isinstance(item, Event):
                    raise EventError(f"stream '{self.junction.id}': expected Event objects, got {shown(item)}")
                event = item
                record = self.read_row(event.load())
                record.timestamp = event.timestamp
                chunk_append(&chunk, record)
                if not is_usual(self.junction.times, event.timestamp):
                    self.look_at(event.timestamp)
            if self.app.frame.playback:
                advance(self.app, chunk.tail.timestamp)
            send(self.junction, &chunk)
        finally:
            chunk_release(&chunk, self.pool)
            if inside:
                put_frame_back(self.app, &frame)
            unlock_app(self.app.lock)

    def send_batch(self, data, timestamp=None):
        """Send the rows of a table; the results are those of sending them one at a time.

        Args:
            data: anything that exports Arrow (pyarrow, polars, pandas), a mapping of numpy columns, or a pandas frame.
                Columns are found by attribute name; others are ignored.
            timestamp: name of the column with the events' time (ms since the epoch, or a date-time column), or an array
                of ms. Without it the events are stamped with the system's clock, and in playback the app's clock does
                not move.

        Raises:
            EventError: a column is missing or does not fit its attribute; nothing has happened.
            NotRunningError: the app is not running.
        """
        cdef Columns columns
        cdef Py_ssize_t taken = 0
        if not self.app.running:
            self.refuse_not_running()
        try:
            columns = read_columns(data, self.layout, timestamp)
        except (ValueError, TypeError) as error:
            raise EventError(f"stream '{self.junction.id}': {error}") from error
        if not self.told_of_nan:
            self.tell_of_nan(data)
        if columns.length and columns.timestamps is not NULL:
            if not is_usual(self.junction.times, columns.earliest):
                self.look_at(columns.earliest)
            if not is_usual(self.junction.times, columns.latest):
                self.look_at(columns.latest)
        try:
            self.enter()
            try:
                self.send_columns(columns, &taken)
            finally:
                unlock_app(self.app.lock)
        except KeyboardInterrupt as error:
            if hasattr(error, "add_note"):
                error.add_note(f"stream '{self.junction.id}' had taken the first {taken} of {columns.length} rows")
            raise

    cdef int send_columns(self, Columns columns, Py_ssize_t* taken) except -1:
        """Send rows in blocks; taken[0]: how many have been sent, also where one fails. The app's lock is held."""
        cdef EventC* block[MAX_BLOCK]
        cdef EventC* fresh
        cdef Py_ssize_t start = 0, made = 0, n, i
        cdef bint inside = is_nested(self.app.lock), outermost = False
        cdef FrameC frame
        # A function of the app may send a batch into the stream whose batch called it: that one goes on behind it.
        cdef Columns outer_columns = self.columns
        cdef RowSource outer_rows = self.junction.rows
        cdef EventC** outer_block = self.block
        cdef Py_ssize_t outer_first = self.first, outer_size = self.block_size, outer_begun = self.junction.begun
        cdef uint64_t outer_unread = self.unread
        if inside:
            frame = set_frame_aside(self.app)
        try:
            if not self.app.running:
                self.refuse_not_running()
            outermost = not self.app.in_batch
            self.app.in_batch = True
            self.app.batch_epoch += 1
            self.junction.block_mode = False
            # Rows without a time leave playback's clock where it is; windows in blocks go by the rows' own times.
            if self.junction.columnar and not (self.app.frame.playback and columns.timestamps is NULL):
                self.junction.choose_blocks(self.app.batch_epoch)
            n = min(<Py_ssize_t> BLOCK, columns.length)
            while made < n:
                block[made] = acquire(self.pool)
                block[made].flags = BORROWED
                made += 1
            while start < columns.length:
                n = min(<Py_ssize_t> BLOCK, columns.length - start)
                self.fill_block(columns, block, start, n)
                self.columns, self.first, self.block, self.block_size = columns, start, block, n
                self.junction.rows = self
                PyErr_CheckSignals()
                self.junction.begun = 0
                try:
                    self.send_block(block, n)
                finally:
                    taken[0] = start + self.junction.begun
                    self.app.raise_put_off()
                for i in range(n):
                    if block[i].refs != 1 or not block[i].flags & BORROWED:
                        # Somebody keeps the record: the next row gets another one.
                        fresh = acquire(self.pool)          # before: where that fails, all of the block is released below
                        release(self.pool, block[i])
                        block[i] = fresh
                        block[i].flags = BORROWED
                start += BLOCK
        finally:
            self.junction.rows, self.columns, self.unread = outer_rows, outer_columns, outer_unread
            self.block, self.first, self.block_size = outer_block, outer_first, outer_size
            self.junction.begun = outer_begun
            for i in range(made):
                release(self.pool, block[i])
            try:
                if outermost:
                    self.app.in_batch = False
                    self.flush_batch_callbacks()
            finally:
                if inside:
                    put_frame_back(self.app, &frame)
        return 0

    cdef int tell_of_nan(self, data) except -1:
        """Warn, once, that a frame has NaN where its owner may mean null."""
        cdef str name = column_with_nan(data, self.layout)
        if name is None:
            return 0
        self.told_of_nan = True
        _log.warning("app '%s', stream '%s': column '%s' of a pandas frame has NaN, which is a number and not null: sums "
                     "and averages over it are NaN. If it stands for missing values, send frame.convert_dtypes() or "
                     "pyarrow.Table.from_pandas(frame). Said once per stream", self.app.name, self.junction.id, name)
        return 0

    cdef int send_block(self, EventC** block, Py_ssize_t n) except -1:
        """Send records one by one, each as a chunk of its own; in playback each moves the clock first, if it has a time."""
        cdef Py_ssize_t i = 0, end
        cdef EventChunk chunk
        if not self.app.frame.playback or self.columns.timestamps is NULL:
            return self.junction.send_block(block, n)
        while i < n and self.app.interrupt is None:
            advance(self.app, block[i].timestamp)
            if self.junction.block_mode:
                # What follows in order of time, up to the next timer, may come before the clock has moved there.
                end = self.end_of_run(block, i, n)
                self.junction.send_block(block + i, end - i)
                i = self.junction.begun
                if block[i - 1].timestamp > self.app.frame.clock:
                    self.app.frame.clock = block[i - 1].timestamp
                continue
            chunk.head = block[i]
            chunk.tail = block[i]
            i += 1
            self.junction.begun = i
            send(self.junction, &chunk)
        return 0

    cdef inline Py_ssize_t end_of_run(self, EventC** block, Py_ssize_t i, Py_ssize_t n) noexcept:
        i += 1
        while i < n and block[i].timestamp >= block[i - 1].timestamp and (
                self.app.n_timers == 0 or block[i].timestamp < self.app.timers[0].when):
            i += 1
        return i

    cdef int flush_batch_callbacks(self) except -1:
        cdef list waiting = self.app.batch_callbacks
        cdef Py_ssize_t i
        self.app.batch_callbacks = []
        for i in range(len(waiting)):
            try:
                waiting[i].flush()
            except BaseException:
                # An interrupt of one callback is none of the others'.
                self.app.batch_callbacks[:0] = waiting[i + 1:]
                self.flush_batch_callbacks()
                raise
        return 0

    cdef int fill_block(self, Columns columns, EventC** block, Py_ssize_t start, Py_ssize_t n) except -1:
        """Write the rows from start on into records, their objects borrowed from the columns."""
        cdef Py_ssize_t i
        cdef int j, word
        cdef ColumnReader reader
        cdef int64_t now = self.untimed() if columns.timestamps is NULL else 0
        # Attributes that nobody reads stay null. Where failed events go on to a fault stream, all are read.
        cdef uint64_t read = self.junction.reads() if self.width <= 64 and self.junction.on_error is None else ALL
        cdef uint64_t unread = 0 if self.width > 64 else ~read & (ALL >> (64 - self.width) if self.width else 0)
        self.unread = unread
        cdef const int64_t* times = NULL if columns.timestamps is NULL else columns.timestamps + start
        cdef EventC* event
        for i in range(n):
            event = block[i]
            event.type = CURRENT
            event.group = 0
            event.timestamp = times[i] if times is not NULL else now
            event.body[0] = unread
        for word in range(1, self.words):
            for i in range(n):
                block[i].body[word] = unread
        for j in range(self.width):
            if self.width <= 64 and not read >> j & 1:
                continue
            reader = <ColumnReader> columns.readers[j]
            reader.fill(block, start, n, self.words + j, j >> 6, (<uint64_t> 1) << (j & 63))
        return 0

    cdef int complete(self, EventC* event) except -1:
        cdef Py_ssize_t i
        cdef int j
        if not self.unread:
            return 0
        for i in range(self.block_size):
            if self.block[i] is event:
                event.body[0] &= ~self.unread
                for j in range(self.width):
                    if self.unread >> j & 1:
                        (<ColumnReader> self.columns.readers[j]).fill(
                            &event, self.first + i, 1, self.words + j, j >> 6, (<uint64_t> 1) << (j & 63))
                        if (self.codes[j] == STRING or self.codes[j] == OBJECT) and not event.flags & BORROWED:
                            # Somebody keeps the record, which owns its objects by now.
                            Py_XINCREF(<PyObject*> event.body[self.words + j])
                return 0
        return 0

    def __repr__(self):
        return f"InputHandler({self.junction.id!r})"
