"""Rows that an on-demand query has found, with names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, overload

from siddhi._core.record.event import Layout
from siddhi._core.record.user_event import Event

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    import polars as pl

    from siddhi._core.columnar.batch import EventBatch

__all__ = ["QueryRows", "rows_of"]

_Row = TypeVar("_Row")


class QueryRows:
    """The events that an on-demand query has found: a sequence that equals a list of them, and is a table for data libraries.

    It is not a list, since libraries take a list for a column of objects: ``polars.DataFrame(rows)`` and ``pyarrow.table(rows)``
    read it as Arrow, with names and types. ``list(rows)`` is a list.

    Attributes:
        layout: names and types of the columns.
    """

    __slots__ = ("_events", "layout")

    layout: Layout
    _events: list[Event]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self.layout.names

    @property
    def types(self) -> tuple[str, ...]:
        """SiddhiQL types of the columns: ``"string"``, ``"int"``, ..."""
        from siddhi._core.record.event import TYPE_NAMES

        return tuple(TYPE_NAMES[code] for code in self.layout.types)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._events)

    def __iter__(self) -> Iterator[Event]:
        """Iterate over the rows."""
        return iter(self._events)

    def __reversed__(self) -> Iterator[Event]:
        """Iterate over the rows from the last to the first."""
        return reversed(self._events)

    def __contains__(self, row: object) -> bool:
        """Whether there is an event that equals this one."""
        return row in self._events

    @overload
    def __getitem__(self, index: SupportsIndex) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> QueryRows: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Event | QueryRows:
        """Return a row by its number, or the rows of a slice.

        Raises:
            IndexError: no such row.
        """
        if isinstance(index, slice):
            return rows_of(self._events[index], self.layout)
        return self._events[index]

    def __eq__(self, other: object) -> bool:
        """Whether the events are equal to those of another result or list; names and types do not count."""
        if isinstance(other, QueryRows):
            return self._events == other._events
        return self._events == other if isinstance(other, list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: list[Event] | QueryRows) -> list[Event]:
        """Return a list of these events and others."""
        return [*self._events, *other]

    def __radd__(self, other: list[Event]) -> list[Event]:
        """Return a list of other events and these."""
        return [*other, *self._events]

    def __repr__(self) -> str:
        return repr(self._events)

    def index(self, row: object, *bounds: int) -> int:
        """Return the number of the first event that equals this one, between bounds as of ``list.index``.

        Raises:
            ValueError: there is none.
        """
        return self._events.index(row, *bounds)  # type: ignore[arg-type]

    def count(self, row: object) -> int:
        """Return the number of events that equal this one."""
        return self._events.count(row)  # type: ignore[arg-type]

    def copy(self) -> QueryRows:
        """Return the same rows as an object of their own."""
        return self[:]

    def head(self, n: int = 5) -> QueryRows:
        """Return the first *n* rows, or all but the last *-n*."""
        return self[:n]

    def tail(self, n: int = 5) -> QueryRows:
        """Return the last *n* rows, or all but the first *-n*."""
        return self[max(0, len(self) - n) if n >= 0 else -n :]

    def column(self, name: str) -> list[Any]:
        """Return a column as a list of Python values; null is None.

        Raises:
            KeyError: no such column.
        """
        return self.to_batch().column(name)

    def to_batch(self) -> EventBatch:
        """Return the rows as columns."""
        from siddhi._core.columnar.batch import BatchBuilder

        builder = BatchBuilder(self.layout)
        for event in self._events:
            builder.append_row(event.timestamp, event.data)
        return builder.take_batch()

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a ``pandas.DataFrame``: see :meth:`EventBatch.to_pandas`."""
        return self.to_batch().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a ``polars.DataFrame``: see :meth:`EventBatch.to_polars`."""
        return self.to_batch().to_polars()

    def to_arrow(self) -> Any:
        """Return the rows as a ``pyarrow.Table``: see :meth:`EventBatch.to_arrow`."""
        return self.to_batch().to_arrow()

    def to_numpy(self) -> npt.NDArray[Any]:
        """Return the rows as a structured array of numpy: see :meth:`EventBatch.to_numpy`."""
        return self.to_batch().to_numpy()

    def to_type(self, kind: type[_Row]) -> list[_Row]:
        """Return the rows as objects of a class: a dataclass, msgspec.Struct, NamedTuple, TypedDict or dict.

        Raises:
            TypeError: the fields of the class are not the columns, or an annotation does not allow their values.
        """
        from siddhi._core.record.row_maker import TypedRowMaker

        return TypedRowMaker("the query", self.layout, kind).rows_of(self._events)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as a list of dicts."""
        names: Sequence[str] = self.layout.names
        return [dict(zip(names, event.data, strict=True)) for event in self._events]

    def to_pylist(self) -> list[dict[str, Any]]:
        """Return the rows as a list of dicts, as pyarrow calls it."""
        return self.to_dicts()

    def to_pydict(self) -> dict[str, list[Any]]:
        """Return the columns as lists, by name."""
        return self.to_batch().to_pydict()

    def __arrow_c_schema__(self) -> object:
        """Return the types of the columns, an Arrow struct."""
        return self.to_batch().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows as an Arrow stream. ``requested_schema`` is ignored."""
        return self.to_batch().__arrow_c_stream__(requested_schema)

    def __reduce__(self) -> tuple[object, ...]:
        return rows_of, (self._events, self.layout)

    def _repr_html_(self) -> str:
        return self.to_batch()._repr_html_()


def rows_of(events: Iterable[Event], layout: Layout) -> QueryRows:
    """Return events with the names and types of their columns."""
    rows = QueryRows()  # without a constructor of its own, which each query would wait for
    rows._events = list(events)
    rows.layout = layout
    return rows
