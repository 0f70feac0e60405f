"""Rows that stores give, as records."""

from libc.string cimport memset

from siddhi._core.event cimport acquire, cell_from_python, release


cdef EventC* record_of(row, EventPool pool, Layout layout) except NULL:
    """A record of a row; the caller's.

    Raises:
        ValueError: the row does not fit the layout.
    """
    cdef int i
    cdef tuple values = tuple(row)
    cdef EventC* record
    if len(values) != layout.width:
        raise ValueError(f"the store gave a row of {len(values)} values, not of {layout.width}")
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
