"""Rows of Python objects as columns, for inputs that take tables."""

from cpython.list cimport PyList_GET_SIZE, PyList_SetItem
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM

from siddhi._core.record.row_reader cimport RowReader, new_reader
from siddhi._core.record.user_event cimport Event

from siddhi._core.record.user_event import names_in
from siddhi.errors import EventError, shown


def columns_of_rows(rows, tuple names not None, timestamp):
    """Return the columns of rows by name, as lists.

    Args:
        rows: a list or tuple. Rows with names (see :func:`row_values`) are read by name, and further names are ignored;
            tuples and lists are read by position.
        names: names of the columns.
        timestamp: name of a further column of rows with names, or None.

    Raises:
        ValueError: a row has other names or another number of values; the message has its number.
    """
    cdef tuple needed = names if timestamp is None or timestamp in names else names + (timestamp,)
    cdef list source = list(rows)
    cdef Py_ssize_t i, j, n = PyList_GET_SIZE(source), width = len(needed)
    cdef list columns = [[None] * n for _ in needed]
    cdef dict readers = {}
    cdef RowReader reader = None
    cdef object known = None
    cdef tuple values
    cdef object value
    for i in range(n):
        row = source[i]
        if type(row) is not known:
            known = type(row)
            if known not in readers:
                readers[known] = new_reader(known, needed, False)
            reader = readers[known]
        values = None if reader is None else reader.read(row)
        if values is None:
            values = other_row(row, names, needed, i)
        for j in range(width):
            value = <object> PyTuple_GET_ITEM(values, j)
            Py_INCREF(value)
            PyList_SetItem(columns[j], i, value)
    return dict(zip(needed, columns))


cdef tuple other_row(row, tuple names, tuple needed, Py_ssize_t number):
    """Return the values of a row that no reader reads."""
    if isinstance(row, Event):
        raise ValueError(f"row {number} is an Event, which has a time of its own: use send_events()")
    if type(row) is tuple or type(row) is list:
        if len(needed) > len(names):
            raise ValueError(f"row {number} has no names, so that '{needed[len(needed) - 1]}' can't be found in it: "
                             "give the times as a list")
        if len(row) != len(names):
            raise ValueError(f"row {number} has {len(row)} values instead of {len(names)} ({', '.join(names)})")
        return tuple(row)
    try:
        found = names_in(row)
    except EventError as error:
        raise ValueError(f"row {number}: {error}") from None
    if found is None:
        raise ValueError(f"row {number}: expected a row with names, a tuple or a list, got {shown(row)}")
    cdef dict by_name = dict(found)
    missing = [name for name in needed if name not in by_name]
    if missing:
        raise ValueError(f"row {number} lacks {', '.join(missing)}; it has: {', '.join(map(str, by_name)) or 'no names'}")
    return tuple([by_name[name] for name in needed])
