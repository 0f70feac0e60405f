"""Sender of batches: the rows of a table are sent into a stream, block by block."""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_XINCREF
from libc.string cimport memcpy

import logging

from siddhi._core.columnar.reader cimport ColumnReader, read_columns
from siddhi._core.columnar.source cimport column_with_nan
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport BORROWED, CURRENT, OBJECT, STRING, acquire, release
from siddhi._core.record.frame cimport MAX_BLOCK, FrameC
from siddhi._core.runtime.context cimport advance, restore_frame, save_frame
from siddhi._core.runtime.lock cimport AppLock, is_nested, lock_app, unlock_app
from siddhi._core.runtime.sampler cimport (
    SampleSite, SpanC, UsageC, begin_unit, end_unit, profiling, read_usage, siddhi_ticks,
)
from siddhi._core.stream.junction cimport send
from siddhi._core.stream.rows cimport check_time
from siddhi._core.stream.sender cimport enter, site_of_sender, untimed
from siddhi._core.columnar.source import tables_of
from siddhi.errors import EventError

_log = logging.getLogger("siddhi")

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef enum:
    WHOLE = 8 * MAX_BLOCK // 2     # rows of a batch whose time is measured as a whole while its app is profiled
    BLOCK = MAX_BLOCK // 2         # rows filled at a time: their records stay in the cache

cdef uint64_t ALL = <uint64_t> 0 - 1


@cython.final
cdef class BatchSender(RowSource):
    """Sends tables into one stream.

    Args:
        sender: the sender of events into the stream.
    """

    def __init__(self, EventSender sender not None):
        self.sender = sender
        self.bind(sender.app, sender.junction)

    cdef void bind(self, AppContext app, StreamJunction junction) noexcept:
        """See :meth:`EventSender.bind`."""
        self.app = app
        self.junction = junction
        self.pool = junction.pool
        self.layout = junction.layout
        self.width = self.layout.width
        self.words = self.layout.words

    cdef int send_batch(self, object data, object timestamp) except -1:
        """Read tables and send their rows."""
        if not self.app.running:
            self.sender.refuse_not_running()
        tables = tables_of(data, (*self.layout.names, timestamp) if isinstance(timestamp, str) else self.layout.names)
        if tables is not None:
            if timestamp is not None and not isinstance(timestamp, str):
                raise EventError(f"stream '{self.junction.id}': the times of a {type(data).__name__} must be in a column of "
                                 "it: give the column's name as timestamp=...")
            for table in tables:
                self.send_table(table, timestamp)
            return 0
        return self.send_table(data, timestamp)

    cdef int send_table(self, object data, object timestamp) except -1:
        """Read a table and send its rows."""
        cdef Columns columns
        cdef SampleSite site
        if profiling.sites is not NULL:
            site = site_of_sender(self.sender)
            if site is not None:
                return self.send_measured(site, data, timestamp)
        columns = self.columns_of(data, timestamp)
        return self.send_range(columns, 0, columns.length)

    cdef int send_measured(self, SampleSite site, object data, object timestamp) except -1:
        """Send a table while its app is profiled: reading it, and releasing what was read, is a part of the time."""
        cdef Columns columns
        cdef UsageC usage
        cdef bint is_large = site.is_large
        cdef int64_t started
        if is_large:
            read_usage(&usage)
        started = siddhi_ticks()
        columns = self.columns_of(data, timestamp)
        self.add_reading(site, siddhi_ticks() - started, &usage if is_large else NULL)
        site.is_large = is_large = columns.length >= WHOLE
        self.send_range(columns, 0, columns.length)
        if is_large:
            read_usage(&usage)
        started = siddhi_ticks()
        columns = None
        return self.add_reading(site, siddhi_ticks() - started, &usage if is_large else NULL)

    cdef int add_reading(self, SampleSite site, int64_t ticks, const UsageC* before) except -1:
        cdef AppLock lock = self.app.lock
        lock_app(lock)
        try:
            if profiling.sites is not NULL and site_of_sender(self.sender) is site:    # else the profile has ended
                site.add_reading(ticks, before)
        finally:
            unlock_app(lock)
        return 0

    cdef Columns columns_of(self, object data, object timestamp):
        """Read a table and check all of it.

        Raises:
            EventError: a column is missing or does not fit its attribute.
        """
        cdef Columns columns
        try:
            columns = read_columns(data, self.layout, timestamp)
        except (ValueError, TypeError) as error:
            raise EventError(f"stream '{self.junction.id}': {error}") from error
        if not self.warned_of_nan:
            self.warn_of_nan(data)
        if columns.length and columns.timestamps is not NULL:
            check_time(self.sender.rows, columns.earliest)
            check_time(self.sender.rows, columns.latest)
        return columns

    cdef int send_range(self, Columns columns, Py_ssize_t start, Py_ssize_t stop) except -1:
        """Send some rows of a table."""
        cdef Py_ssize_t taken = start
        try:
            enter(self.sender)
            try:
                if self.layout is not columns.layout and (
                        (self.layout.names, self.layout.types) != (columns.layout.names, columns.layout.types)):
                    raise EventError(
                        f"stream '{self.junction.id}' got other attributes while its app was changed, and before the batch "
                        "was sent; no row of it was taken")
                self.send_columns(columns, start, stop, &taken)
            finally:
                unlock_app(self.app.lock)
        except KeyboardInterrupt as error:
            if hasattr(error, "add_note"):
                error.add_note(f"stream '{self.junction.id}' had taken the first {taken} of {columns.length} rows")
            raise
        return 0

    cdef int send_columns(self, Columns columns, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t* taken) except -1:
        """Send rows in blocks; taken[0] is the row after the last one sent, also on failure. The app's lock must be held."""
        cdef EventC* block[MAX_BLOCK]
        cdef EventC* fresh
        cdef Py_ssize_t made = 0, n, i
        cdef bint inside = is_nested(self.app.lock), outermost = False
        cdef FrameC frame
        # A function of the app may send a batch into the stream that called it: the outer batch continues afterwards.
        cdef Columns outer_columns = self.columns
        cdef RowSource outer_rows = self.junction.rows
        cdef EventC** outer_block = self.block
        cdef Py_ssize_t outer_first = self.first, outer_size = self.block_size, outer_begun = self.junction.begun
        cdef uint64_t outer_unread = self.unread
        cdef SampleSite site = site_of_sender(self.sender) if profiling.sites is not NULL else None
        cdef SampleSite blocks = None if site is None else site.blocks
        cdef SpanC span
        cdef int unit = 0
        cdef bint whole = blocks is not None and not inside and stop - start >= WHOLE
        if whole:
            blocks.begin_whole()
        if inside:
            frame = save_frame(self.app)
        try:
            if not self.app.running:
                self.sender.refuse_not_running()
            if site is not None:
                site.more_rows += stop - start
                if inside and profiling.open and not site.sampler.sampling:
                    site = blocks = None       # a part of the unit that sends it
            outermost = not self.app.in_batch
            self.app.in_batch = True
            n = min(<Py_ssize_t> BLOCK, stop - start)
            while made < n:
                block[made] = acquire(self.pool)
                block[made].flags = BORROWED
                made += 1
            while start < stop:
                n = min(<Py_ssize_t> BLOCK, stop - start)
                self.junction.bind()
                if blocks is not None:
                    unit = begin_unit(blocks, &span)
                self.junction.begun = 0
                try:
                    self.fill_block(columns, block, start, n)
                    self.columns, self.first, self.block, self.block_size = columns, start, block, n
                    self.junction.rows = self
                    PyErr_CheckSignals()
                    self.send_block(block, n)
                    for i in range(n):
                        if block[i].refs != 1 or not block[i].flags & BORROWED:
                            # A receiver has retained the record: the next row needs a new one.
                            fresh = acquire(self.pool)          # first: on failure the whole block is released below
                            release(self.pool, block[i])
                            block[i] = fresh
                            block[i].flags = BORROWED
                finally:
                    if blocks is not None:
                        end_unit(blocks, &span, unit)
                    taken[0] = start + self.junction.begun
                    self.app.raise_deferred()
                start += BLOCK
        finally:
            self.junction.rows, self.columns, self.unread = outer_rows, outer_columns, outer_unread
            self.block, self.first, self.block_size = outer_block, outer_first, outer_size
            self.junction.begun = outer_begun
            for i in range(made):
                release(self.pool, block[i])
            if whole:
                blocks.end_whole()
            try:
                if outermost:
                    self.app.in_batch = False
                    if site is not None:
                        unit = begin_unit(site.flushes, &span)
                    try:
                        self.flush_callbacks()
                    finally:
                        if site is not None:
                            end_unit(site.flushes, &span, unit)
            finally:
                if inside:
                    restore_frame(self.app, &frame)
        return 0

    cdef int warn_of_nan(self, data) except -1:
        """Warn once about NaN in a data frame whose owner may mean null."""
        cdef str name = column_with_nan(data, self.layout)
        if name is None:
            return 0
        self.warned_of_nan = True
        _log.warning("app '%s', stream '%s': column '%s' of a pandas frame has NaN, which is a number and not null: sums "
                     "and averages over it are NaN. If it stands for missing values, send frame.convert_dtypes() or "
                     "pyarrow.Table.from_pandas(frame). Said once per stream", self.app.name, self.junction.id, name)
        return 0

    cdef int send_block(self, EventC** block, Py_ssize_t n) except -1:
        """Send records one by one, each as a chunk of its own; in playback each moves the clock first, if it has a time."""
        cdef Py_ssize_t i = 0, end
        cdef EventChunk chunk
        cdef bint columnar = self.junction.columnar
        if not self.app.frame.playback and columnar:
            return self.junction.send_block(block, n)
        # Rows without a time do not move the clock in playback; windows in blocks use the times of the rows.
        if not self.app.frame.playback or self.columns.timestamps is NULL:
            return self.junction.send_singly(block, n)
        while i < n and self.app.interrupt is None:
            advance(self.app, block[i].timestamp)
            if columnar and self.junction.block_mode:
                # Rows in order of time, up to the next timer, may be processed before the clock has moved there.
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

    cdef int flush_callbacks(self) except -1:
        cdef list waiting = self.app.batch_callbacks
        cdef Py_ssize_t i
        self.app.batch_callbacks = []
        for i in range(len(waiting)):
            try:
                waiting[i].flush()
            except BaseException:
                # An interrupt in one callback must not affect the others.
                self.app.batch_callbacks[:0] = waiting[i + 1:]
                self.flush_callbacks()
                raise
        return 0

    cdef int fill_block(self, Columns columns, EventC** block, Py_ssize_t start, Py_ssize_t n) except -1:
        """Write the rows from `start` on into records, which borrow their objects from the columns."""
        cdef Py_ssize_t i
        cdef int j, word
        cdef ColumnReader reader
        cdef int64_t now = untimed(self.app) if columns.timestamps is NULL else 0
        # Attributes without readers stay null. If failed events go to a fault stream, all attributes are read.
        cdef uint64_t read = self.junction.read_mask if self.width <= 64 and self.junction.on_error is None else ALL
        cdef uint64_t unread = 0 if self.width > 64 else ~read & (ALL >> (64 - self.width) if self.width else 0)
        self.unread = unread
        cdef const int64_t* times = columns.timestamps
        cdef EventC* event
        for i in range(n):
            event = block[i]
            event.type = CURRENT
            event.group = 0
            event.timestamp = times[start + i] if times is not NULL else now
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
                        if (self.layout.codes[j] == STRING or self.layout.codes[j] == OBJECT) and not event.flags & BORROWED:
                            # A receiver has retained the record, which owns its objects by now.
                            Py_XINCREF(<PyObject*> event.body[self.words + j])
                return 0
        return 0


@cython.final
cdef class ReadBatch:
    """A table that was read and checked for a stream, of which ranges of rows are sent. ``len()`` is the number of rows.

    Returned by :meth:`InputHandler.read_batch`. It keeps the table's memory: change the table only when all has been sent.
    """

    def __init__(self):
        raise TypeError("use InputHandler.read_batch()")

    def __len__(self):
        return self.columns.length

    @property
    def times(self):
        """Times of the rows (ms), a new int64 array; None: the table has been read without times."""
        import numpy
        if self.columns.timestamps is NULL:
            return None
        times = numpy.empty(self.columns.length, numpy.int64)
        if self.columns.length:
            memcpy(<void*> <size_t> times.__array_interface__["data"][0], self.columns.timestamps,
                   self.columns.length * sizeof(int64_t))
        return times

    def send(self, Py_ssize_t start=0, stop=None):
        """Send the rows from *start* to *stop* (exclusive); None: to the end.

        Raises:
            IndexError: the table has no such rows.
            NotRunningError: the app is not running.
        """
        cdef Py_ssize_t end = self.columns.length if stop is None else stop
        if not 0 <= start <= end <= self.columns.length:
            raise IndexError(f"no rows {start} to {end} in a table of {self.columns.length} rows")
        self.sender.send_range(self.columns, start, end)


cdef ReadBatch new_read_batch(BatchSender sender, object data, object timestamp):
    cdef ReadBatch batch = ReadBatch.__new__(ReadBatch)
    batch.sender = sender
    batch.columns = sender.columns_of(data, timestamp)
    return batch
