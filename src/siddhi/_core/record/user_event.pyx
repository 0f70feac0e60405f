"""Event: the external form of an event."""

cimport cython
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_CheckExact
from libc.string cimport memset

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from operator import index as index_of

from siddhi._core.record.chunk cimport chunk_append, chunk_release
from siddhi._core.record.event cimport EXPIRED, acquire, cell_from_python, event_to_tuple, release, retain
from siddhi._core.record.instant cimport read_instant
from siddhi._core.record.row_reader cimport fields_of
from siddhi.errors import EventError, shown

cdef int64_t read_timestamp(timestamp) except? -1:
    """Return an integer, also one of numpy, or a date-time as ms."""
    try:
        return read_instant(timestamp, "timestamp")
    except (TypeError, ValueError) as error:
        raise EventError(str(error)) from None


# no_gc: events are created and dropped by the million. Only an object attribute that holds its own event could form a cycle.
@cython.final
@cython.freelist(64)
@cython.no_gc
@cython.collection_type("sequence")
cdef class Event:
    """One event: ``timestamp`` (int, ms since the epoch; -1 when it has none), ``data`` (tuple in attribute order),
    ``is_expired``, and ``end``, where it comes out of a temporal stream. Values are reached by position (``event[0]``) and,
    for events the engine made, by attribute name: ``event["price"]``, and ``event.price`` unless an event has something of
    this name itself; ``pandas.DataFrame(events)`` takes over the names. They match in ``match`` statements:
    ``case Event(price=price)``, ``case [symbol, price]``. Events are immutable and compare by value; they
    can be pickled and copied, names included.

    Args:
        timestamp: ms since the epoch; a datetime with a zone or a ``numpy.datetime64`` is converted.
        data: the values, in attribute order: a tuple, a list or another iterable.
        is_expired: whether the event left a window.
        end: ms since the epoch until which it is valid; None: not known, or the stream is classical.

    Raises:
        EventError: the timestamp is not a time or out of range, or the data are a mapping (an event made by the caller
            can't resolve names) or have no order.
    """

    __match_args__ = ("timestamp", "data", "is_expired")

    def __init__(self, timestamp, data, is_expired=False, end=None):
        self.timestamp = read_timestamp(timestamp)
        self.has_end = end is not None
        if self.has_end:
            # The end of a lifetime may be any time of the axis.
            try:
                self.end_time = index_of(end)
            except (TypeError, OverflowError):
                raise EventError(f"the end of an event is an integer (ms since the epoch), not {shown(end)}") from None
        self.values = data if PyTuple_CheckExact(data) else row_values(data, None)
        self.is_expired = is_expired

    def __dealloc__(self):
        if self.record is not NULL:
            release(self.pool, self.record)

    cdef tuple load(self):
        if self.values is None:
            self.values = event_to_tuple(self.record, self.layout)
            release(self.pool, self.record)
            self.record = NULL
            self.pool = None
        return self.values

    @property
    def data(self):
        """Return the values as a tuple, in attribute order."""
        return self.load()

    @property
    def end(self):
        """Return the first ms at which the row is not valid any more; None: not known, or the stream is classical."""
        return self.end_time if self.has_end else None

    def __getitem__(self, key):
        cdef tuple values = self.load()
        if isinstance(key, str):
            if self.layout is None or key not in self.layout.names:
                raise KeyError(key)
            return values[self.layout.names.index(key)]
        return values[key]

    def __getattr__(self, name):
        # Only called for names that an event does not have itself.
        if self.layout is not None and name in self.layout.names:
            return self.load()[self.layout.names.index(name)]
        if self.layout is None:
            raise AttributeError(f"this event has no attribute names, and no attribute '{name}'", name=name, obj=self)
        if name == "_fields":
            return self.layout.names       # pandas asks rows for their names as it asks named tuples
        raise AttributeError(f"an event of {', '.join(self.layout.names)} has no attribute '{name}'", name=name, obj=self)

    def __dir__(self):
        return sorted({*object.__dir__(self), *(self.layout.names if self.layout is not None else ())})

    def __len__(self):
        return len(self.load())

    def __iter__(self):
        return iter(self.load())

    def to_dict(self):
        """Return the values by attribute name.

        Raises:
            TypeError: the event was not made by the engine and has no attribute names.
        """
        values = self.load()
        if self.layout is None:
            raise TypeError("this event has no attribute names")
        return dict(zip(self.layout.names, values))

    def __eq__(self, other):
        if not isinstance(other, Event):
            return NotImplemented
        return (self.timestamp == (<Event> other).timestamp and self.is_expired == (<Event> other).is_expired
                and self.has_end == (<Event> other).has_end and self.end_time == (<Event> other).end_time
                and self.load() == (<Event> other).load())

    def __hash__(self):
        return hash((self.timestamp, self.load(), self.is_expired))

    def __repr__(self):
        values = self.load()
        if self.layout is None:
            values_text = repr(values)
        else:
            values_text = "(" + ", ".join(f"{name}={value!r}" for name, value in zip(self.layout.names, values)) + ")"
        end_text = f", end={self.end_time}" if self.has_end else ""
        return f"Event({self.timestamp}, {values_text}{', expired' if self.is_expired else ''}{end_text})"

    def __copy__(self):
        return self

    def __reduce__(self):
        more = (self.end_time,) if self.has_end else ()
        if self.layout is None:
            return Event, (self.timestamp, self.load(), self.is_expired, *more)
        return restore_event, (self.timestamp, self.load(), self.is_expired, self.layout, *more)


Sequence.register(Event)


def restore_event(timestamp, tuple values not None, is_expired, Layout layout not None, end=None):
    """Return an event that was pickled or copied, with its attribute names.

    Raises:
        ValueError: values and names differ in number.
    """
    cdef Event event = Event(timestamp, values, is_expired, end)
    if len(values) != layout.width:
        raise ValueError(f"an event of {layout.width} attributes needs {layout.width} values, got {len(values)}")
    event.layout = layout
    return event


cdef Event make_event(EventC* record, EventPool pool, Layout layout):
    cdef Event event = Event.__new__(Event)
    event.timestamp = record.timestamp
    event.is_expired = record.type == EXPIRED
    retain(pool, record)
    event.record = record
    event.pool = pool
    event.layout = layout
    return event


cdef list make_events(EventChunk* chunk, EventPool pool, Layout layout):
    """Return the events of a chunk, in order."""
    cdef EventC* record = chunk.head
    cdef Py_ssize_t n = 0, i = 0
    cdef Event event
    cdef list events
    while record is not NULL:
        n += 1
        record = record.next
    events = PyList_New(n)
    record = chunk.head
    while record is not NULL:
        event = make_event(record, pool, layout)
        Py_INCREF(event)
        PyList_SET_ITEM(events, i, event)
        i += 1
        record = record.next
    return events


cdef int replace_values(EventChunk* chunk, list rows, EventPool pool, Layout layout, EventChunk* replaced) except -1:
    """Fill an empty chunk with new records: kinds and times of a chunk of as many events, values of rows.

    Raises:
        ValueError: a value does not fit its attribute, or the numbers differ; the new chunk is empty then.
    """
    cdef EventC* record = chunk.head
    cdef EventC* changed
    try:
        for row in rows:
            if record is NULL:
                raise ValueError(f"{len(rows)} rows can't take the place of fewer events")
            values = row_values(row, layout.names)
            if len(values) != layout.width:
                raise ValueError(f"a row of {len(values)} values can't take the place of an event of {layout.width}")
            changed = record_of(values, pool, layout)
            changed.type = record.type
            changed.timestamp = record.timestamp
            chunk_append(replaced, changed)
            record = record.next
        if record is not NULL:
            raise ValueError(f"{len(rows)} rows can't take the place of more events")
    except BaseException:
        chunk_release(replaced, pool)
        raise
    return 0


# --- Rows of Python values: put in attribute order, and converted to records.

cdef tuple TEXTS = (str, bytes, bytearray)


cpdef tuple row_values(row, tuple names):
    """Return the values of a row, in attribute order.

    A row with names is read by name: mappings, named tuples, dataclasses, msgspec structs, rows of databases, numpy records,
    pandas Series with an index of names. Any other iterable is read by position.

    Args:
        row: the row.
        names: attribute names, in order; None: they are unknown, and a row with names is an error.

    Raises:
        EventError: the row is a text, a table or not iterable, or has no order or other names.
    """
    if type(row) is tuple or type(row) is list:
        return tuple(row)
    if isinstance(row, Set) and not isinstance(row, Sequence):
        raise EventError(f"a {type(row).__name__} has no order: a row is a tuple or list of values, not {shown(row)}")
    cdef list given = names_in(row)
    if given is None:
        if isinstance(row, TEXTS) or not hasattr(row, "__iter__"):
            raise EventError(f"a row is a tuple or list of values, not {shown(row)}")
        return tuple(row)
    if names is None:
        raise EventError(f"an event takes its values in attribute order, as a tuple or list, not by name: {shown(row)}; "
                         "input_handler.send(row, timestamp) takes names")
    cdef dict by_name = dict(given)
    unknown = [name for name in by_name if name not in names]
    missing = [name for name in names if name not in by_name]
    twice = [name for name, count in Counter([name for name, _ in given]).items() if count > 1]
    if unknown or missing or twice:
        raise EventError(f"the attributes are {', '.join(names)}; the row " + " and ".join(
            ([f"lacks {', '.join(missing)}"] if missing else [])
            + ([f"has {', '.join(map(str, unknown))}"] if unknown else [])
            + ([f"names {', '.join(map(str, twice))} more than once"] if twice else [])))
    return tuple([by_name[name] for name in names])


def names_in(row):
    """Return pairs of name and value; None if the row has no names."""
    if isinstance(row, Event):
        return None                        # of one stream for another: by position
    if isinstance(row, Mapping):
        return [(name, row[name]) for name in row]
    fields = None if isinstance(row, (tuple, type)) else fields_of(type(row))
    if fields is not None:
        try:
            return [(name, getattr(row, name)) for name in fields]
        except AttributeError as error:
            raise EventError(f"{shown(row)} has no value for one of its fields: {error}") from None
    fields = getattr(row, "_fields", None) or getattr(row, "__fields__", None)     # named tuples, SQLAlchemy; Spark
    if fields is None:
        fields = getattr(getattr(row, "dtype", None), "names", None)               # records of numpy
        if fields is not None and getattr(row, "shape", ()) != ():
            raise EventError(f"an array of {row.size} records is not a row: send_batch takes a table, send one record of it")
    if fields is None and hasattr(row, "keys"):
        # Rows of sqlite3, and pandas Series. The default index of a Series consists of numbers.
        fields = list(row.keys())
        return None if fields == list(range(len(fields))) else [(name, row[name]) for name in fields]
    return None if fields is None else list(zip(fields, row, strict=True))


cdef EventC* record_of(row, EventPool pool, Layout layout) except NULL:
    """Return a record of a row; the caller owns it.

    Raises:
        ValueError: the row does not fit the layout.
    """
    cdef int i
    cdef tuple values
    cdef EventC* record
    if isinstance(row, (Mapping, Set)):
        raise ValueError(
            f"the store returned a {type(row).__name__}, expected a row of values in attribute order: {shown(row)}")
    values = tuple(row)
    if len(values) != layout.width:
        raise ValueError(f"the store returned a row of {len(values)} values, expected {layout.width}")
    record = acquire(pool)
    record.timestamp = -1
    memset(record.body, 0, 8 * layout.words)
    try:
        for i in range(layout.width):
            cell_from_python(record, layout, i, values[i])
    except:
        release(pool, record)
        raise
    return record
