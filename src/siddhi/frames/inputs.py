"""Inputs of a query over frames: what is given for a stream, as tables with times."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from siddhi._core.columnar.batch import EventBatch
from siddhi._core.columnar.source import tables_of
from siddhi._core.stream.batches import ReadBatch
from siddhi._core.stream.input import InputHandler
from siddhi.errors import EventError, did_you_mean, shown
from siddhi.frames.order import Order
from siddhi.frames.rows import tables_of_rows
from siddhi.frames.schema import Column, columns_of
from siddhi.frames.values import plain_column, times_in_numbers, times_in_text
from siddhi.types import AttributeType

__all__ = [
    "DEFAULT_COLUMN",
    "OWN_TIMES",
    "FrameInput",
    "Piece",
    "default_times",
    "open_input",
    "read_pieces",
    "refuse_untyped",
    "time_column",
]

OWN_TIMES = object()
"""Source of times: the events themselves, which carry their times."""

DEFAULT_COLUMN = "timestamp"
PIECE = 65_536
"""Rows of a table whose times are looked at together while inputs are merged."""


@dataclass(frozen=True)
class _Table:
    """A table, and the times of its rows if they are not in a column of it."""

    data: Any
    times: Any = None


@dataclass
class FrameInput:
    """What is given for a stream.

    Attributes:
        stream: name of the stream.
        columns: the columns by name.
        has_own_times: whether its rows carry times that are in no column.
        tables: returns the tables; called once, with the columns that are needed (None: all).
        index: times (ms) in the index of a pandas frame, by the name of the level ("index": it has none).
        sorting: how to sort the input by a column, for errors.
    """

    stream: str
    columns: dict[str, Column]
    has_own_times: bool
    tables: Callable[[Collection[str] | None], Iterator[_Table]]
    index: Mapping[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    sorting: str = "sort it by '{}'"


@dataclass(frozen=True)
class Piece:
    """Rows of a table that has been read for its stream."""

    batch: ReadBatch
    first: int
    times: npt.NDArray[np.int64] | None
    size: int

    def __len__(self) -> int:
        return self.size

    def send(self, start: int, stop: int) -> None:
        """Send the rows from *start* to *stop* (exclusive) of this piece."""
        self.batch.send(self.first + start, self.first + stop)


def open_input(
    stream: str,
    data: Any,
    attributes: Sequence[str] | None,
    times: Collection[str],
    objects: Collection[str] = (),
) -> FrameInput:
    """Look at what is given for a stream, without reading more than its first rows.

    Args:
        stream: name of the stream.
        data: a table of any kind that :meth:`InputHandler.send_batch` takes, or an iterable of rows.
        attributes: names of the stream's attributes; None: all columns are attributes.
        times: columns besides date-times that may hold the times of the events.
        objects: attributes of type object, whose values stay as they are.

    Raises:
        TypeError: it is neither a table nor an iterable of rows, or has a column without a name.
        EventError: the first rows can't be read.
    """
    given = _open(stream, data, attributes, times, objects)
    if attributes is None:
        _refuse_columns(given)
    library = type(data).__module__.partition(".")[0]
    given.sorting = _SORTING.get(library, given.sorting)
    return given


_SORTING = {
    "pandas": "sort it, as in frame.sort_values('{}')",
    "polars": "sort it, as in frame.sort('{}')",
    "duckdb": "sort it, as in relation.order('{}')",
}


def _open(
    stream: str, data: Any, attributes: Sequence[str] | None, times: Collection[str], objects: Collection[str]
) -> FrameInput:
    pandas = sys.modules.get("pandas")
    if isinstance(data, Mapping):
        for name, values in data.items():
            if isinstance(values, (str, bytes, Mapping)) or not (
                isinstance(values, Iterable) and isinstance(values, Sized)
            ):
                raise TypeError(
                    f"the input of stream '{stream}': column '{name}' is {shown(values)}, not an array or a list; "
                    "one row is given as [{...}]"
                )
    elif pandas is not None and isinstance(data, pandas.Series):
        raise TypeError(
            f"the input of stream '{stream}' is a Series: a column needs a name, as in series.to_frame('price')"
        )
    columns = columns_of(data)
    if columns is not None:
        index = _times_in_index(data)
        data = _plain_table(data, objects)
        own = data.timestamps if isinstance(data, EventBatch) else None

        def tables(needed: Collection[str] | None) -> Iterator[_Table]:
            streamed = tables_of(data, needed)
            return iter((_Table(data, own),)) if streamed is None else map(_Table, streamed)

        return FrameInput(stream, columns, own is not None, tables, index)
    streamed = tables_of(data)
    if streamed is None and (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        streamed = iter((_arrow_table(stream, data),))
    if streamed is not None:
        first = next(streamed, None)
        found = iter(()) if first is None else map(_Table, chain((first,), streamed))
        return FrameInput(stream, columns_of(first) or {}, False, lambda _: found)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes, bytearray, np.ndarray)):
        return _input_of_rows(stream, data, attributes, times)
    raise TypeError(
        f"the input of stream '{stream}' is a {type(data).__name__}: give a data frame, an Arrow table, a duckdb relation, "
        "a numpy structured array, a mapping of names to columns, or an iterable of rows"
    )


def time_column(given: FrameInput, name: str | None) -> object:
    """Return the source of times that was named for an input, a column or a level of its index; None: it has no times.

    Raises:
        TypeError: there is no such column, or it can't hold times.
    """
    if name is None or (not given.columns and not given.index):
        return name
    if name not in given.columns:
        if name in given.index:
            return given.index[name]
        known = [*given.columns, *given.index]
        raise TypeError(
            f"the input of stream '{given.stream}' has no column '{name}' with times{did_you_mean(name, known)}"
        )
    return _usable(given, name)


def default_times(given: FrameInput) -> object:
    """Return the source of the times of an input for which none was named.

    Returns:
        A column, the times in an index, or OWN_TIMES; None: it has no times.

    Raises:
        TypeError: several columns could be meant, or the column ``timestamp`` can't hold times.
    """
    if given.has_own_times:
        return OWN_TIMES
    if DEFAULT_COLUMN in given.columns:
        return _usable(given, DEFAULT_COLUMN)
    instants = list(given.index) or [name for name, each in given.columns.items() if each.is_instant]
    if len(instants) > 1:
        raise TypeError(
            f"the input of stream '{given.stream}' has several {'levels' if given.index else 'columns'} of times, "
            f"{' and '.join(instants)}: say which one counts, as in timestamp='{instants[0]}'"
        )
    if given.index:
        return given.index[instants[0]]
    return instants[0] if instants else None


def _usable(given: FrameInput, name: str) -> str:
    column = given.columns[name]
    if not column.may_be_time:
        raise TypeError(
            f"the input of stream '{given.stream}' has a column '{name}' of type {column.type.value}, which can't be the "
            "times of its events: give integers in ms, date-times or text in ISO 8601, or say that its rows have no times: "
            f"timestamp={{'{given.stream}': None}}"
        )
    return name


def read_pieces(
    given: FrameInput,
    handler: InputHandler,
    attributes: Sequence[str],
    times: object,
    *,
    instant: int,
    merged: bool,
) -> Iterator[Piece]:
    """Read the tables of an input for its stream.

    Args:
        given: the input.
        handler: handler of the stream.
        attributes: names of the stream's attributes.
        times: what :func:`time_column` or :func:`default_times` returned.
        instant: time (ms) of rows without times.
        merged: whether the times of the rows are needed, as columns of limited length.

    Raises:
        EventError: a table does not fit the stream.
    """
    needed: Sequence[str] = [*attributes, times] if isinstance(times, str) else attributes
    before, order = 0, _order_of(given, times)
    for table in given.tables(needed):
        try:
            batch = handler.read_batch(table.data, _source(given, table, times, instant, before))
        except EventError as error:
            raise EventError(_with_row_of_input(str(error), before)) from error
        at = batch.times
        assert at is not None, "every table is read with times"
        if times is not None:
            order.check(at)
        before += len(batch)
        if not merged:
            yield Piece(batch, 0, None, len(batch))
            continue
        for first in range(0, len(batch), PIECE):
            part = at[first : first + PIECE]
            yield Piece(batch, first, part, len(part))
    order.warn()


def _order_of(given: FrameInput, times: object) -> Order:
    if times is OWN_TIMES:
        return Order(given.stream, "")
    return Order(
        given.stream, given.sorting.format(times) if isinstance(times, str) else "sort it, as in frame.sort_index()"
    )


def _source(given: FrameInput, table: _Table, times: object, instant: int, before: int) -> Any:
    """Return the times of the rows of a table, or the column that holds them."""
    if times is OWN_TIMES:
        return table.times
    if times is None:
        return np.full(_length(table.data), instant, np.int64)
    if isinstance(times, str) and (column := given.columns.get(times)) is not None and not column.is_instant:
        read = _CONVERSIONS.get(column.type)
        if read is not None:
            try:
                return read(times, table.data[times], before)
            except ValueError as error:
                raise EventError(f"stream '{given.stream}': {error}") from error
    return times


_CONVERSIONS = {
    AttributeType.STRING: times_in_text,
    AttributeType.FLOAT: times_in_numbers,
    AttributeType.DOUBLE: times_in_numbers,
}


def _with_row_of_input(message: str, before: int) -> str:
    """Return the message about a table with the number of the row in the input, which is *before* rows greater."""
    return re.sub(r"^(stream '[^']*': row )(\d+)", lambda found: f"{found[1]}{int(found[2]) + before}", message)


def _plain_table(data: Any, objects: Collection[str]) -> Any:
    """Return a pandas frame or mapping whose columns of Python objects have plain values, and date-times as arrays."""
    pandas = sys.modules.get("pandas")
    is_frame = pandas is not None and isinstance(data, pandas.DataFrame)
    if not (is_frame or isinstance(data, Mapping)) or (is_frame and not data.columns.is_unique):
        return data
    changed: dict[str, Any] = {}
    for name in data.columns if is_frame else data:
        values = data[name]
        kind = getattr(values, "dtype", None)
        if name in objects or (str(kind) != "object" and not (kind is None and isinstance(values, (list, tuple)))):
            continue
        plain = plain_column(tuple(values) if kind is None else values.tolist())
        if kind is None or hasattr(plain, "dtype") or (not is_frame and not hasattr(values, "array")):
            changed[name] = plain
    if not changed:
        return data
    return {name: changed.get(name, data[name]) for name in (data.columns if is_frame else data)}


def _times_in_index(data: Any) -> dict[str, npt.NDArray[np.int64]]:
    """Return the times in the index of a pandas frame, by level."""
    pandas = sys.modules.get("pandas")
    found: dict[str, npt.NDArray[np.int64]] = {}
    if pandas is None or not isinstance(data, pandas.DataFrame):
        return found
    for number, name in enumerate(data.index.names):
        level = data.index.get_level_values(number)
        if isinstance(level, pandas.PeriodIndex):
            level = level.to_timestamp()
        if isinstance(level, pandas.DatetimeIndex):
            found["index" if name is None else str(name)] = level
    return found


def _length(table: Any) -> int:
    """Return the number of rows of a table."""
    if isinstance(table, Mapping):
        return max((len(column) for column in table.values()), default=0)
    rows = getattr(table, "num_rows", None)
    return len(table) if rows is None else int(rows)


def _input_of_rows(stream: str, rows: Iterable[Any], names: Sequence[str] | None, times: Collection[str]) -> FrameInput:
    tables = tables_of_rows(stream, rows, names, times)
    first = next(tables, None)
    if first is None:
        return FrameInput(stream, {}, False, lambda _: iter(()))
    found = (_Table(table.columns, table.times) for table in chain((first,), tables))
    return FrameInput(stream, columns_of(first.columns) or {}, first.times is not None, lambda _: found)


def _arrow_table(stream: str, data: Any) -> Any:
    """Return a pyarrow table of anything that exports Arrow."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise TypeError(
            f"the input of stream '{stream}' is a {type(data).__name__}, which is read with pyarrow: "
            "pip install 'siddhi[arrow]'"
        ) from error
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data).read_all()
    batch = pa.record_batch(data)
    return pa.Table.from_batches([batch])


def _refuse_columns(given: FrameInput) -> None:
    """Refuse columns whose names are no names of attributes.

    Raises:
        TypeError: a name is not a text.
    """
    for name in given.columns:
        if not isinstance(name, str):
            raise TypeError(
                f"the input of stream '{given.stream}' has a column called {shown(name)}, a {type(name).__name__}: attributes "
                "need names that are texts; rename the columns, as in frame.columns = ['symbol', 'price']"
            )


def refuse_untyped(given: FrameInput) -> None:
    """Refuse an input for a stream that the text does not define, if it does not tell the attributes.

    Raises:
        EventError: it has no columns, or one with values of several types.
    """
    for name, column in given.columns.items():
        if column.mixed:
            raise EventError(
                f"stream '{given.stream}': column '{name}' has values of several types: {column.mixed}; convert them, or "
                f"write 'define stream {given.stream} (... {name} object ...)' to keep them"
            )
    if not given.columns:
        raise EventError(
            f"stream '{given.stream}' has no definition, and its input has no columns to infer it from: "
            f"write 'define stream {given.stream} (...)'"
        )
