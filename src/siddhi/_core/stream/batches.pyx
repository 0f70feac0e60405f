"""Sender of batches: the rows of a table are sent into a stream, block by block."""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_XINCREF

import logging

from siddhi._core.columnar.reader cimport ColumnReader, read_columns
from siddhi._core.columnar.source cimport column_with_nan
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport BORROWED, CURRENT, OBJECT, STRING, acquire, release
from siddhi._core.record.frame cimport MAX_BLOCK, FrameC
from siddhi._core.runtime.context cimport advance, restore_frame, save_frame
from siddhi._core.runtime.lock cimport is_nested, unlock_app
from siddhi._core.stream.junction cimport send
from siddhi._core.stream.rows cimport check_time
from siddhi._core.stream.sender cimport enter, untimed
from siddhi.errors import EventError

_log = logging.getLogger("siddhi")

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef enum:
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
        """Read a table and send its rows."""
        cdef Columns columns
        cdef Py_ssize_t taken = 0
        if not self.app.running:
            self.sender.refuse_not_running()
        try:
            columns = read_columns(data, self.layout, timestamp)
        except (ValueError, TypeError) as error:
            raise EventError(f"stream '{self.junction.id}': {error}") from error
        if not self.warned_of_nan:
            self.warn_of_nan(data)
        if columns.length and columns.timestamps is not NULL:
            check_time(self.sender.rows, columns.earliest)
            check_time(self.sender.rows, columns.latest)
        try:
            enter(self.sender)
            try:
                self.send_columns(columns, &taken)
            finally:
                unlock_app(self.app.lock)
        except KeyboardInterrupt as error:
            if hasattr(error, "add_note"):
                error.add_note(f"stream '{self.junction.id}' had taken the first {taken} of {columns.length} rows")
            raise

    cdef int send_columns(self, Columns columns, Py_ssize_t* taken) except -1:
        """Send rows in blocks; taken[0] counts the rows sent, also on failure. The app's lock must be held."""
        cdef EventC* block[MAX_BLOCK]
        cdef EventC* fresh
        cdef Py_ssize_t start = 0, made = 0, n, i
        cdef bint inside = is_nested(self.app.lock), outermost = False
        cdef FrameC frame
        # A function of the app may send a batch into the stream that called it: the outer batch continues afterwards.
        cdef Columns outer_columns = self.columns
        cdef RowSource outer_rows = self.junction.rows
        cdef EventC** outer_block = self.block
        cdef Py_ssize_t outer_first = self.first, outer_size = self.block_size, outer_begun = self.junction.begun
        cdef uint64_t outer_unread = self.unread
        if inside:
            frame = save_frame(self.app)
        try:
            if not self.app.running:
                self.sender.refuse_not_running()
            outermost = not self.app.in_batch
            self.app.in_batch = True
            n = min(<Py_ssize_t> BLOCK, columns.length)
            while made < n:
                block[made] = acquire(self.pool)
                block[made].flags = BORROWED
                made += 1
            while start < columns.length:
                n = min(<Py_ssize_t> BLOCK, columns.length - start)
                self.junction.bind()
                self.fill_block(columns, block, start, n)
                self.columns, self.first, self.block, self.block_size = columns, start, block, n
                self.junction.rows = self
                PyErr_CheckSignals()
                self.junction.begun = 0
                try:
                    self.send_block(block, n)
                finally:
                    taken[0] = start + self.junction.begun
                    self.app.raise_deferred()
                for i in range(n):
                    if block[i].refs != 1 or not block[i].flags & BORROWED:
                        # A receiver has retained the record: the next row needs a new one.
                        fresh = acquire(self.pool)          # first: on failure the whole block is released below
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
                    self.flush_callbacks()
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
