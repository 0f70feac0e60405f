"""On-demand query of `siddhi query`, with the output of its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from siddhi import SiddhiAppRuntime
from siddhi.cli.endpoints import Endpoint
from siddhi.cli.failures import AppRefused, ProcessingFailed
from siddhi.cli.outputs.output import OutputWriter
from siddhi.cli.schema import ARROW_TYPES
from siddhi.errors import SiddhiError
from siddhi.runtime.query_rows import QueryRows

__all__ = ["OnDemandQuery"]


class OnDemandQuery:
    """An on-demand query that runs once, after all inputs were sent.

    Args:
        runtime: the app.
        text: the query.
        endpoint: the output of the result.

    Raises:
        AppRefused: the text is not an on-demand query of this app.
        OutputFailed: the output can't be created.
    """

    def __init__(self, runtime: SiddhiAppRuntime, text: str, endpoint: Endpoint) -> None:
        self._text = text
        try:
            self._attributes = runtime.query_types(text)
        except SiddhiError as error:
            raise AppRefused(str(error)) from error
        self.writer = OutputWriter(endpoint, self._attributes, timestamp=None, labelled=False)

    def run(self, runtime: SiddhiAppRuntime) -> None:
        """Run the query and write its result.

        Raises:
            ProcessingFailed: the query failed.
            ReaderGone, OutputFailed: as :meth:`OutputWriter.flush`.
        """
        try:
            rows = runtime.query(self._text)
        except SiddhiError as error:
            raise ProcessingFailed(str(error)) from error
        if rows:
            self.writer.take(_Result(rows, self._attributes))
            self.writer.flush()


class _Result:
    """Rows as columns for an output writer."""

    def __init__(self, rows: QueryRows, attributes: Sequence[tuple[str, str]]) -> None:
        self._rows = rows
        self._attributes = attributes
        self._positions = {name: position for position, (name, _) in enumerate(attributes)}

    @property
    def timestamps(self) -> list[int]:
        """Timestamps of the rows; rows of tables have -1."""
        return [row.timestamp for row in self._rows]

    def column(self, name: str) -> list[Any]:
        """Return the values of a column."""
        position = self._positions[name]
        return [row.data[position] for row in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        """Export the rows to Arrow; only called if no column has type object."""
        arrays = [pa.array(self.column(name), ARROW_TYPES[kind]) for name, kind in self._attributes]
        names = [name for name, _ in self._attributes]
        return pa.RecordBatch.from_arrays(arrays, names).__arrow_c_array__(requested_schema)
