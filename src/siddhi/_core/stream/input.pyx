"""Input handlers: the interface through which users send events."""

cimport cython
from libc.stdint cimport int64_t

from siddhi._core.record.frame cimport now_ms
from siddhi._core.record.user_event cimport Event
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.stream.batches cimport new_read_batch
from siddhi._core.stream.junction cimport StreamJunction
from siddhi._core.stream.rows cimport check_time, parse_time
from siddhi._core.stream.sender cimport begin_way_in, send_row, untimed


@cython.final
cdef class InputHandler(AwaitedSends):
    """Sends events into one stream. Returned by ``runtime.input_handler(stream)``; thread-safe.

    An app processes one send at a time. A send of a callback is processed at once, inside the send that called the
    callback. Before ``start()`` and after ``shutdown()`` sending raises :class:`siddhi.errors.NotRunningError`; after a
    restart of the app the handler works again.
    """

    def __init__(self, AppContext app not None, StreamJunction junction not None):
        self.events = EventSender(app, junction)
        self.batches = BatchSender(self.events)

    def rebind(self, InputHandler other not None):
        """Redirect to the stream of another handler with the same attributes.

        The lock of the current app must be held by a thread that does not process any of its events."""
        self.events.bind(other.events.app, other.events.junction)
        self.batches.bind(other.events.app, other.events.junction)

    @property
    def stream(self):
        """Name of the stream."""
        return self.events.junction.id

    def send(self, row, timestamp=None):
        """Send one event.

        Args:
            row: the values (None is null). A tuple, a list, an :class:`Event` or another iterable without names gives
                them in attribute order. A mapping, a dataclass, a msgspec struct, a named tuple, a record of numpy, a row of
                sqlite3, SQLAlchemy or Spark, or a pandas Series gives them by attribute name, and has exactly these
                names. Sets are refused.
            timestamp: ms since the epoch, a datetime with a zone or a ``numpy.datetime64``. Without it the event is stamped
                with the system's clock, and in playback the app's clock does not move.

        Raises:
            EventError: the row does not fit the stream (arity, names, type or range); nothing has happened.
            NotRunningError: the app is not running.
        """
        cdef int64_t time, came = begin_way_in(self.events)
        cdef bint stamped = True
        if timestamp is not None:
            time = parse_time(self.events.rows, timestamp)
        elif isinstance(row, Event):
            time = (<Event> row).timestamp
            row = (<Event> row).load()
            check_time(self.events.rows, time)
        else:
            time = untimed(self.events.app)
            stamped = False
        send_row(self.events, row, time, stamped, came)

    def send_events(self, events):
        """Send several events as one chunk (queries see a batch; see reference: arrays).

        Args:
            events: :class:`Event` objects. In playback the clock moves to the timestamp of the last one first.

        Raises:
            EventError: one of the rows does not fit the stream, or there are none; nothing has happened.
            NotRunningError: the app is not running.
        """
        self.events.send_events(list(events))

    def send_batch(self, data, timestamp=None):
        """Send the rows of a table; the results are those of sending them one at a time.

        Args:
            data: anything that exports Arrow (pyarrow, polars, pandas), a mapping of numpy columns, a pandas frame, or a
                list of rows as of :meth:`send`. Columns are found by attribute name; others are ignored. A polars LazyFrame,
                a duckdb relation, and a RecordBatchReader, dataset or scanner of pyarrow are read bit by bit, in bounded
                memory.
            timestamp: name of the column with the events' time (ms since the epoch, or a date-time column), or an array
                of times. Without it the events are stamped with the system's clock, and in playback the app's clock does
                not move.

        Raises:
            EventError: a column is missing or does not fit its attribute; nothing has happened, except that rows of a
                lazy frame and the like that were read before have been sent.
            NotRunningError: the app is not running.
        """
        self.batches.send_batch(data, timestamp)

    def read_batch(self, data, timestamp=None):
        """Read and check a table as :meth:`send_batch` does, but send nothing yet: the result sends ranges of its rows.

        Args:
            data, timestamp: as of :meth:`send_batch`.

        Raises:
            EventError: a column is missing or does not fit its attribute.
        """
        return new_read_batch(self.batches, data, timestamp)

    def __repr__(self):
        return f"InputHandler({self.stream!r})"


@cython.final
cdef class RowInput:
    """Sends rows into the stream of an input handler, with the time of an app. It follows the handler when that is rebound.

    Args:
        handler: the input handler.
        app: the context of the app whose clock counts.
    """

    def __init__(self, InputHandler handler not None, AppContext app not None):
        self.events = handler.events
        self.app = app

    def send(self, row):
        """Send one event; rows and errors are those of :meth:`InputHandler.send`."""
        send_row(self.events, row, now_ms(&self.app.frame), True, begin_way_in(self.events))

    def send_rows(self, list rows not None):
        """Send the rows as one chunk; errors are those of :meth:`InputHandler.send_events`."""
        self.events.send_rows(rows, now_ms(&self.app.frame))
