"""The state of users' objects as snapshot values: events and deques become tuples with a mark."""

from collections import deque

from siddhi._core.record.user_event cimport Event

cdef str MARK = "\0siddhi."
cdef str AN_EVENT = MARK + "event"
cdef str A_DEQUE = MARK + "deque"
cdef str A_TUPLE = MARK + "tuple"


cdef bint is_marked(tuple value):
    return len(value) > 0 and type(value[0]) is str and (<str> value[0]).startswith(MARK)


cdef object plain_state(object value):
    cdef object kind = type(value)
    cdef Event event
    if kind is Event:
        event = value
        plain = (AN_EVENT, event.timestamp, plain_state(event.load()), bool(event.is_expired))
        return (*plain, event.end_time) if event.has_end else plain
    if kind is list:
        return [plain_state(item) for item in <list> value]
    if kind is tuple:
        items = tuple([plain_state(item) for item in <tuple> value])
        # A tuple of the user that starts with a mark gets a mark, too.
        return (A_TUPLE, *items) if is_marked(value) else items
    if kind is dict:
        return {plain_state(key): plain_state(item) for key, item in (<dict> value).items()}
    if kind is set:
        return {plain_state(item) for item in value}
    if kind is frozenset:
        return frozenset([plain_state(item) for item in value])
    if kind is deque:
        return (A_DEQUE, value.maxlen, [plain_state(item) for item in value])
    return value


cdef object living_state(object value, Layout layout):
    cdef object kind = type(value)
    cdef Event event
    if kind is list:
        return [living_state(item, layout) for item in <list> value]
    if kind is tuple:
        if not is_marked(value):
            return tuple([living_state(item, layout) for item in <tuple> value])
        mark, *rest = value
        if mark == A_TUPLE:
            return tuple([living_state(item, layout) for item in rest])
        if mark == A_DEQUE and len(rest) == 2:
            return deque(living_state(rest[1], layout), rest[0])
        if mark == AN_EVENT and len(rest) in (3, 4):
            event = Event(rest[0], living_state(rest[1], layout), *rest[2:])
            if len(event.values) == layout.width:
                event.layout = layout
            return event
        raise ValueError("snapshot is damaged: invalid state of a user's object")
    if kind is dict:
        return {living_state(key, layout): living_state(item, layout) for key, item in (<dict> value).items()}
    if kind is set:
        return {living_state(item, layout) for item in value}
    if kind is frozenset:
        return frozenset([living_state(item, layout) for item in value])
    return value
