"""Columns of outputs: the attributes of a stream, and what its rows mean in a temporal or corrected app."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from siddhi.cli.inputs.options import attributes_of
from siddhi.cli.outputs.output import EventColumns
from siddhi.cli.schema import ARROW_TYPES
from siddhi.planner.plan.temporal import ACTION, TemporalModel

if TYPE_CHECKING:
    from siddhi import SiddhiAppRuntime
    from siddhi.temporal import TemporalEvent

__all__ = ["add_output_callback", "output_columns"]

END = "_end"
"""Column of the end of a lifetime, in ms; null for a START of the edge model."""


def output_columns(runtime: SiddhiAppRuntime, stream: str) -> list[tuple[str, str]]:
    """Return names and types of the columns of an output: attributes, then ``_op`` of an app that corrects late events, or
    ``_end`` of a stream whose rows have an end.

    Raises:
        click.UsageError: the stream is not defined, or it has an attribute of this name.
    """
    columns = attributes_of(runtime, stream)
    added = [(ACTION, "string")] if runtime.plan.corrected_streams() else []
    added += [(END, "long")] if _has_ends(runtime, stream) else []
    for name, _ in added:
        if name in dict(columns):
            raise click.UsageError(
                f"the output of stream '{stream}' would have two columns '{name}': rename its attribute"
            )
    return [*columns, *added]


def add_output_callback(runtime: SiddhiAppRuntime, stream: str, take: Callable[[EventColumns], None]) -> None:
    """Call ``take`` with the rows of a stream, in the columns of :func:`output_columns`."""
    if not _has_ends(runtime, stream):
        runtime.add_batch_callback(stream, take)
        return
    columns = output_columns(runtime, stream)

    def take_items(items: list[TemporalEvent]) -> None:
        rows = [item for item in items if item.data is not None]
        if rows:
            take(_Lifetimes(rows, columns))

    runtime.add_temporal_callback(stream, take_items)


def _has_ends(runtime: SiddhiAppRuntime, stream: str) -> bool:
    plan = runtime.plan.streams.get(stream)
    return plan is not None and plan.temporal is not None and plan.temporal.model is not TemporalModel.POINT


class _Lifetimes:
    """Rows with lifetimes as columns."""

    def __init__(self, rows: Sequence[TemporalEvent], columns: Sequence[tuple[str, str]]) -> None:
        self._types = dict(columns)
        names = [name for name, _ in columns]
        values = zip(*((*(row.data or ()), row.end) for row in rows), strict=True)
        self._columns = dict(zip(names, map(list, values), strict=True))
        self.timestamps: npt.NDArray[np.int64] = np.array([row.start for row in rows], np.int64)

    def __len__(self) -> int:
        return len(self.timestamps)

    def column(self, name: str) -> list[Any]:
        """Return the values of a column."""
        return self._columns[name]

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
        arrays = [pa.array(values, ARROW_TYPES[self._types[name]]) for name, values in self._columns.items()]
        exported: tuple[object, object] = pa.RecordBatch.from_arrays(arrays, list(self._columns)).__arrow_c_array__(
            requested_schema
        )
        return exported
