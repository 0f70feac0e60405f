"""What a query over frames returns: its output streams as columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from siddhi.errors import did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from siddhi._core.columnar.batch import EventBatch

__all__ = ["Result"]


class Result:
    """Output of :func:`siddhi.query`: one :class:`EventBatch` per output stream.

    ``result["Alerts"]`` is the batch of a stream. ``to_pandas()`` and the like are about the last stream in text order, which is
    the only one of most queries; so is the Arrow export, by which ``pa.table(result)`` and ``polars.DataFrame(result)`` work.
    """

    def __init__(self, batches: Mapping[str, EventBatch], others: Collection[str] = ()) -> None:
        self._batches = dict(batches)
        self._others = others

    @property
    def streams(self) -> tuple[str, ...]:
        """Names of the output streams, in text order."""
        return tuple(self._batches)

    @property
    def batch(self) -> EventBatch:
        """Events of the last output stream.

        Raises:
            KeyError: the query has no output stream.
        """
        if not self._batches:
            raise KeyError("the query has no output stream: let it 'insert into' a stream")
        return self._batches[self.streams[-1]]

    def __getitem__(self, stream: str) -> EventBatch:
        """Return the events of an output stream.

        Raises:
            KeyError: it is not an output stream, or was not collected.
        """
        batch = self._batches.get(stream)
        if batch is None:
            if stream in self._others:
                raise KeyError(f"stream '{stream}' was not collected: ask for it, as in outputs=['{stream}']")
            raise KeyError(
                f"no output stream '{stream}'; there are: {', '.join(self._batches)}{did_you_mean(stream, self)}"
            )
        return batch

    def __contains__(self, stream: object) -> bool:
        """Whether this is an output stream that was collected."""
        return stream in self._batches

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the output streams."""
        return iter(self._batches)

    def __len__(self) -> int:
        """Return the number of output streams."""
        return len(self._batches)

    def items(self) -> Iterator[tuple[str, EventBatch]]:
        """Iterate over names and events of the output streams."""
        return iter(self._batches.items())

    def to_pandas(self, timestamp: str | None = None) -> pd.DataFrame:
        """Return the last output stream as a ``pandas.DataFrame``: see :meth:`EventBatch.to_pandas`."""
        return self.batch.to_pandas(timestamp)

    def to_polars(self, timestamp: str | None = None) -> pl.DataFrame:
        """Return the last output stream as a ``polars.DataFrame``: see :meth:`EventBatch.to_polars`."""
        return self.batch.to_polars(timestamp)

    def to_arrow(self, timestamp: str | None = None) -> Any:
        """Return the last output stream as a ``pyarrow.Table``: see :meth:`EventBatch.to_arrow`."""
        return self.batch.to_arrow(timestamp)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the events of the last output stream as a list of dicts."""
        return self.batch.to_dicts()

    def __arrow_c_schema__(self) -> object:
        """Return the types of the last output stream, an Arrow struct."""
        return self.batch.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the last output stream as an Arrow stream. ``requested_schema`` is ignored."""
        return self.batch.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        lines = []
        for stream, batch in self._batches.items():
            columns = ", ".join(f"{name} {kind}" for name, kind in zip(batch.names, batch.types, strict=True))
            lines.append(f"  {stream}: {len(batch):,} event{'' if len(batch) == 1 else 's'} ({columns})")
        return "\n".join([f"Result of {len(lines)} stream{'' if len(lines) == 1 else 's'}", *lines])

    def _repr_html_(self) -> str:
        from html import escape

        return "".join(f"<h4>{escape(stream)}</h4>{batch._repr_html_()}" for stream, batch in self._batches.items())
