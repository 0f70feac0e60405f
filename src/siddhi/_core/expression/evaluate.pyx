"""Evaluation of an expression over Python values, for tests and for callers without an event."""

cimport cython
from libc.stdint cimport int64_t
from libc.string cimport memset

from siddhi._core.expression.executor cimport Executor, evaluate_to_python
from siddhi._core.record.event cimport CURRENT, EventC, EventPool, Layout, acquire, cell_from_python, release
from siddhi._core.record.frame cimport FrameC

cdef enum:
    MAX_SLOTS = 64


@cython.final
cdef class Row:
    """An event made of Python values; the record lives as long as this object."""

    cdef EventPool pool
    cdef EventC* event

    def __cinit__(self, Layout layout not None, values, int64_t timestamp=0):
        cdef int i
        values = tuple(values)
        if len(values) != layout.width:
            raise ValueError(f"expected {layout.width} values, got {len(values)}")
        self.pool = EventPool(layout)
        self.event = acquire(self.pool)
        self.event.timestamp = timestamp
        memset(self.event.body, 0, 8 * layout.words)
        for i in range(layout.width):
            cell_from_python(self.event, layout, i, values[i])

    def __dealloc__(self):
        if self.event is not NULL:
            release(self.pool, self.event)


def evaluate(Executor executor not None, Layout layout not None, row, *, int64_t timestamp=0, int type=CURRENT,
             clock=None, slots=(), output=None, table_row=None):
    """Evaluate an expression.

    Args:
        layout: of the current event.
        row: its values; None is null.
        timestamp: its timestamp in ms.
        type: its EventType.
        clock: the app's clock in ms, as in playback; None is the system's clock.
        slots: events of joins and patterns: (layout, values) or (layout, values, timestamp), None where empty.
        output: the output event, (layout, values).
        table_row: the table row, (layout, values).

    Returns:
        The value; None is null.

    Raises:
        ValueError: a row does not fit its layout, or there are too many slots.
        Exception: what the expression raises.
    """
    cdef FrameC frame
    cdef EventC* events[MAX_SLOTS]
    cdef Py_ssize_t i
    cdef Row event = Row(layout, row, timestamp)
    cdef Row other
    if len(slots) > MAX_SLOTS:
        raise ValueError(f"at most {MAX_SLOTS} slots, not {len(slots)}")
    memset(&frame, 0, sizeof(frame))
    memset(events, 0, sizeof(events))
    frame.slots = events
    frame.type = type
    if clock is not None:
        frame.playback = True
        frame.clock = clock
    event.event.type = type
    rows = []                    # keeps the other events alive
    for i in range(len(slots)):
        if slots[i] is not None:
            other = Row(*slots[i])
            rows.append(other)
            events[i] = other.event
    if output is not None:
        other = Row(*output)
        rows.append(other)
        frame.output = other.event
    if table_row is not None:
        other = Row(*table_row)
        rows.append(other)
        frame.row = other.event
    return evaluate_to_python(executor, event.event, &frame)
