"""An on-demand query, and where its answer goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from siddhi import Event, SiddhiAppRuntime
from siddhi.cli.endpoints import Endpoint
from siddhi.cli.failures import AppRefused, ProcessingFailed
from siddhi.cli.outputs.output import Outlet
from siddhi.cli.schema import ARROW_TYPES
from siddhi.errors import SiddhiError

__all__ = ["Question"]


class Question:
    """Asked once, when the app has been fed.

    Args:
        runtime: of the app.
        text: the query.
        endpoint: where the answer goes.

    Raises:
        AppRefused: it is not an on-demand query of this app.
        OutputFailed: the output can't be created.
    """

    def __init__(self, runtime: SiddhiAppRuntime, text: str, endpoint: Endpoint) -> None:
        self._text = text
        try:
            self._attributes = runtime.query_types(text)
        except SiddhiError as error:
            raise AppRefused(str(error)) from error
        self.outlet = Outlet(endpoint, self._attributes, timestamp=None, labelled=False)

    def ask(self, runtime: SiddhiAppRuntime) -> None:
        """Ask, and write the answer.

        Raises:
            ProcessingFailed: the query failed.
            ReaderGone, OutputFailed: as :meth:`Outlet.flush`.
        """
        try:
            rows = runtime.query(self._text)
        except SiddhiError as error:
            raise ProcessingFailed(str(error)) from error
        if rows:
            self.outlet.take(_Answer(rows, self._attributes))
            self.outlet.flush()


class _Answer:
    """Rows as the columns an outlet takes."""

    def __init__(self, rows: Sequence[Event], attributes: Sequence[tuple[str, str]]) -> None:
        self._rows = rows
        self._attributes = attributes
        self._positions = {name: position for position, (name, _) in enumerate(attributes)}

    @property
    def timestamps(self) -> list[int]:
        """Rows have none."""
        return [row.timestamp for row in self._rows]

    def column(self, name: str) -> list[Any]:
        """Values of a column."""
        position = self._positions[name]
        return [row.data[position] for row in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        """As Arrow; only asked for where no column is of objects."""
        arrays = [pa.array(self.column(name), ARROW_TYPES[kind]) for name, kind in self._attributes]
        names = [name for name, _ in self._attributes]
        return pa.RecordBatch.from_arrays(arrays, names).__arrow_c_array__(requested_schema)
