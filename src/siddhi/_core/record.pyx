"""Rows of Python values: their values in attribute order, and as records."""

from libc.string cimport memset

from siddhi._core.event cimport acquire, cell_from_python, release

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import is_dataclass

from siddhi.errors import EventError, shown

cdef tuple TEXTS = (str, bytes, bytearray)


cpdef tuple row_values(row, tuple names):
    """The values of a row, in attribute order.

    A row with names goes by name: mappings, named tuples, rows of databases, numpy records, pandas Series with an index of
    names. Any other iterable goes by position.

    Args:
        row: the row.
        names: attribute names, in order; None: they are not known, a row with names is refused.

    Raises:
        EventError: the row is a text or has no values, no order, or other names.
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
    """Pairs of name and value; None where the row knows no names."""
    if isinstance(row, Mapping):
        return [(name, row[name]) for name in row]
    fields = getattr(row, "_fields", None) or getattr(row, "__fields__", None)     # named tuples, SQLAlchemy; Spark
    if fields is None:
        fields = getattr(getattr(row, "dtype", None), "names", None)               # records of numpy
    if fields is None and hasattr(row, "keys"):
        # Rows of sqlite3, pandas Series. A Series without an index of its own has numbers for names.
        fields = list(row.keys())
        return None if fields == list(range(len(fields))) else [(name, row[name]) for name in fields]
    return None if fields is None else list(zip(fields, row, strict=True))


cdef EventC* record_of(row, EventPool pool, Layout layout) except NULL:
    """A record of a row; the caller's.

    Raises:
        ValueError: the row does not fit the layout.
    """
    cdef int i
    cdef tuple values
    cdef EventC* record
    if isinstance(row, (Mapping, Set)):
        raise ValueError(f"the store gave a {type(row).__name__}, not a row of values in attribute order: {shown(row)}")
    values = tuple(row)
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
