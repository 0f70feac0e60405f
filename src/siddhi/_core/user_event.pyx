"""Event: the external form of an event."""

cimport cython
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_CheckExact

from siddhi._core.event cimport EXPIRED, event_to_tuple, release, retain
from siddhi._core.instant cimport read_instant
from siddhi._core.record cimport row_values

from siddhi.errors import EventError

cdef int64_t read_timestamp(timestamp) except? -1:
    """Any integer (numpy's, too) as ms."""
    try:
        return read_instant(timestamp, "timestamp")
    except (TypeError, ValueError) as error:
        raise EventError(str(error)) from None


# no_gc: made and dropped by the million. Only an object attribute that holds its own event could close a cycle.
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
        EventError: the timestamp is no integer, or out of range; the data have names, which an event made by hand can't
            resolve, or no order.
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
        """The values as a tuple, in attribute order."""
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
        """Values by attribute name.

        Raises:
            TypeError: the event was not made by the engine and knows no names.
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
    """An event as it was pickled or copied, with its attribute names.

    Raises:
        ValueError: values and names differ in number.
    """
    cdef Event event = Event(timestamp, values, is_expired)
    if len(values) != layout.width:
        raise ValueError(f"an event of {layout.width} attributes can't have {len(values)} values")
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
    """The events of a chunk, in order."""
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
