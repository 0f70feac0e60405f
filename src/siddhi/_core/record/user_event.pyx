"""Event: the external form of an event."""

cimport cython
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_CheckExact
from libc.string cimport memset

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import is_dataclass

from siddhi._core.record.event cimport EXPIRED, acquire, cell_from_python, event_to_tuple, release, retain
from siddhi._core.record.instant cimport read_instant
from siddhi.errors import EventError, shown

cdef int64_t read_timestamp(timestamp) except? -1:
    """Return any integer, also one of numpy, as ms."""
    try:
        return read_instant(timestamp, "timestamp")
    except (TypeError, ValueError) as error:
        raise EventError(str(error)) from None


# no_gc: events are created and dropped by the million. Only an object attribute that holds its own event could form a cycle.
@cython.final
@cython.freelist(64)
@cython.no_gc
cdef class Event:
    """One event: ``timestamp`` (int, ms since the epoch; -1 when it has none), ``data`` (tuple in attribute order) and
    ``is_expired``. Values are reached by position (``event[0]``) and, for events the engine made, by attribute name
    (``event["price"]``). Events are immutable and compare by value; they can be pickled and copied, names included.

    Args:
        timestamp: ms since the epoch.
        data: the values, in attribute order: a tuple, a list or another iterable.
        is_expired: whether the event left a window.

    Raises:
        EventError: the timestamp is not an integer or out of range, or the data are a mapping (an event made by the caller
            can't resolve names) or have no order.
    """

    def __init__(self, timestamp, data, is_expired=False):
        self.timestamp = read_timestamp(timestamp)
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

    def __getitem__(self, key):
        cdef tuple values = self.load()
        if isinstance(key, str):
            if self.layout is None or key not in self.layout.names:
                raise KeyError(key)
            return values[self.layout.names.index(key)]
        return values[key]

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
                and self.load() == (<Event> other).load())

    def __hash__(self):
        return hash((self.timestamp, self.load(), self.is_expired))

    def __repr__(self):
        values = self.load()
        if self.layout is None:
            values_text = repr(values)
        else:
            values_text = "(" + ", ".join(f"{name}={value!r}" for name, value in zip(self.layout.names, values)) + ")"
        return f"Event({self.timestamp}, {values_text}{', expired' if self.is_expired else ''})"

    def __copy__(self):
        return self

    def __reduce__(self):
        if self.layout is None:
            return Event, (self.timestamp, self.load(), self.is_expired)
        return restore_event, (self.timestamp, self.load(), self.is_expired, self.layout)


def restore_event(timestamp, tuple values not None, is_expired, Layout layout not None):
    """Return an event that was pickled or copied, with its attribute names.

    Raises:
        ValueError: values and names differ in number.
    """
    cdef Event event = Event(timestamp, values, is_expired)
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


# --- Rows of Python values: put in attribute order, and converted to records.

cdef tuple TEXTS = (str, bytes, bytearray)


cpdef tuple row_values(row, tuple names):
    """Return the values of a row, in attribute order.

    A row with names is read by name: mappings, named tuples, rows of databases, numpy records, pandas Series with an index
    of names. Any other iterable is read by position.

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
            hint = "; dataclasses.asdict(row) is a mapping" if is_dataclass(row) else ""
            raise EventError(f"a row is a tuple or list of values, not {shown(row)}{hint}")
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


cdef list names_in(row):
    """Return pairs of name and value; None if the row has no names."""
    if isinstance(row, Mapping):
        return [(name, row[name]) for name in row]
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
