"""Number the rows of a partition: of a stream, where Spark has no expression for that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

__all__ = ["number_rows"]


def number_rows(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return rows with their number, as the last column."""
    n = 0
    for batch in batches:
        numbers = pa.array(np.arange(n, n + batch.num_rows, dtype=np.int64))
        n += batch.num_rows
        yield pa.RecordBatch.from_arrays([*batch.columns, numbers], names=[*batch.schema.names, "row"])
