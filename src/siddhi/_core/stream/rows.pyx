"""Parser of rows: Python values become records of a stream."""

cimport cython

from siddhi._core.record.event cimport cell_from_python, release
from siddhi._core.record.row_reader cimport RowReader, new_reader
from siddhi._core.record.user_event cimport Event, read_timestamp, row_values
from siddhi.errors import EventError, shown


cdef enum:
    MOST_CLASSES = 64      # whose readers are kept


@cython.final
cdef class RowParser:
    """Reads rows and timestamps that are sent into one stream.

    A tuple gives the values in attribute order. Any other row is read by name if it has names: by a :class:`RowReader` of
    its class, or else by :func:`row_values`, which has the errors. Every refusal is an :class:`siddhi.errors.EventError`
    that names the stream.

    Args:
        junction: the junction of the stream.
    """

    def __init__(self, StreamJunction junction not None):
        self.bind(junction)

    cdef void bind(self, StreamJunction junction) noexcept:
        """Read rows for another junction of a stream with the same attributes."""
        self.stream = junction.id
        self.pool = junction.pool
        self.layout = junction.layout
        self.times = junction.times
        self.codes = self.layout.codes
        self.width = self.layout.width
        self.words = self.layout.words
        self.reader = None
        self.readers = None

    cdef tuple values_of(self, row):
        """Return the values of a row that is not a tuple, in attribute order."""
        cdef RowReader reader = self.reader
        cdef tuple values
        if reader is None or reader.kind is not type(row):
            if isinstance(row, Event):
                return (<Event> row).load()
            self.reader = reader = self.reader_of(type(row))
        if reader is not None:
            values = reader.read(row)
            if values is not None:
                return values
        try:
            return row_values(row, self.layout.names)
        except EventError as error:
            raise EventError(f"stream '{self.stream}': {error}") from None

    cdef RowReader reader_of(self, kind):
        """Return the reader of the rows of a class, or None."""
        if self.readers is None or len(self.readers) >= MOST_CLASSES:
            self.readers = {}
        if kind in self.readers:
            return self.readers[kind]
        reader = new_reader(kind, self.layout.names, True)
        self.readers[kind] = reader
        return reader

    cdef int refuse_width(self, tuple row) except -1:
        raise EventError(
            f"stream '{self.stream}' has {self.width} attributes ({', '.join(self.layout.names)}), "
            f"the row has {len(row)} values: {shown(row)}")

    cdef int read_value(self, EventC* event, int position, object value) except -1:
        """Write one value into a record; release the record if the value is refused."""
        try:
            return cell_from_python(event, self.layout, position, value)
        except Exception as error:
            release(self.pool, event)
            raise EventError(f"stream '{self.stream}': {error}") from None
        except BaseException:
            release(self.pool, event)
            raise

    cdef int64_t time_of(self, timestamp) except? -1:
        """Return a timestamp that is not an int of Python."""
        try:
            return read_timestamp(timestamp)
        except EventError as error:
            raise EventError(f"stream '{self.stream}': {error}") from None

    cdef int look_at(self, int64_t time) except -1:
        """Check a time of another kind than the one before."""
        try:
            return self.times.look(time)
        except ValueError as error:
            raise EventError(f"stream '{self.stream}': {error}") from None
