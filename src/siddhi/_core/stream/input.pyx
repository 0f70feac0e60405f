"""Input handlers: the interface through which users send events."""

cimport cython
from libc.stdint cimport int64_t

from siddhi._core.record.user_event cimport Event
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.stream.junction cimport StreamJunction
from siddhi._core.stream.rows cimport check_time, parse_time
from siddhi._core.stream.sender cimport send_row, untimed


@cython.final
cdef class InputHandler:
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
                them in attribute order. A mapping, a named tuple, a record of numpy, a row of sqlite3, SQLAlchemy or
                Spark, or a pandas Series gives them by attribute name, and has exactly these names. Sets are refused.
            timestamp: ms since the epoch. Without it the event is stamped with the system's clock, and in playback the
                app's clock does not move.

        Raises:
            EventError: the row does not fit the stream (arity, names, type or range); nothing has happened.
            NotRunningError: the app is not running.
        """
        cdef int64_t time
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
        send_row(self.events, row, time, stamped)

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
            data: anything that exports Arrow (pyarrow, polars, pandas), a mapping of numpy columns, or a pandas frame.
                Columns are found by attribute name; others are ignored.
            timestamp: name of the column with the events' time (ms since the epoch, or a date-time column), or an array
                of ms. Without it the events are stamped with the system's clock, and in playback the app's clock does
                not move.

        Raises:
            EventError: a column is missing or does not fit its attribute; nothing has happened.
            NotRunningError: the app is not running.
        """
        self.batches.send_batch(data, timestamp)

    def __repr__(self):
        return f"InputHandler({self.stream!r})"
