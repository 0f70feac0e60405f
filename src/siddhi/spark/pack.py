"""Rows on their way into and out of the stateful operator: LZ4 Arrow streams, one per shard going in, one per output going
out. They pass the Pandas bridge as bytes, so a null stays a null and a long a long."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa

from siddhi.spark.program import IslandProgram, OutputShape
from siddhi.spark.shard import ARROW_TYPES

__all__ = ["PACKED", "RELEASED", "pack_rows", "packed", "unpack_output", "unpacked"]

PACKED = "shard int, n bigint, rows binary"
"""Schema of what goes into the stateful operator."""
RELEASED = "out int, shard int, n bigint, rows binary"
"""Schema of what comes out of it."""

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4")
_AHEAD = 2
"""Columns of unpacked rows that say where a row goes: shard, island."""


def packed(batch: pa.RecordBatch) -> bytes:
    """A batch as an Arrow stream."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema, options=_OPTIONS) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


def unpacked(data: bytes) -> pa.RecordBatch:
    """The batch of :func:`packed`."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()


def pack_rows(
    programs: tuple[IslandProgram, ...], columns: tuple[tuple[int, ...], ...], ordering: int
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow`` in front of the shuffle.

    Args:
        programs: of the islands.
        columns: per island, the columns of the rows that are those of its door.
        ordering: how many columns order the rows; they stand behind shard and island.
    """

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            shards = batch.column(0).to_numpy()
            order = np.argsort(shards, kind="stable")
            rows = batch.take(pa.array(order))
            sorted_shards = shards[order]
            islands = rows.column(1).to_numpy()
            starts = [0, *(np.flatnonzero(np.diff(sorted_shards)) + 1).tolist(), len(sorted_shards)]
            found: list[tuple[int, int, bytes]] = []
            for start, stop in itertools.pairwise(starts):
                island = int(islands[start])
                program = programs[island]
                kept = [*range(_AHEAD, _AHEAD + ordering), *(_AHEAD + ordering + n for n in columns[island])]
                names = [*(f"o{n}" for n in range(ordering)), *program.columns]
                part = rows.slice(start, stop - start)
                slim = pa.RecordBatch.from_arrays([part.column(n) for n in kept], names=names)
                found.append((int(sorted_shards[start]), stop - start, packed(slim)))
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([shard for shard, _, _ in found], pa.int32()),
                    pa.array([n for _, n, _ in found], pa.int64()),
                    pa.array([data for _, _, data in found], pa.binary()),
                ],
                names=["shard", "n", "rows"],
            )

    return run


def unpack_output(
    shape: OutputShape, *, time_first: bool = False, skip: int = 0
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function for ``mapInArrow`` that makes rows of what the stateful operator put out for one stream.

    Its input has one binary column; its output ``__t``, then ``c0`` to ``cn``.

    Args:
        shape: of the stream.
        time_first: event time is the first column, not the last, as in rows that came in.
        skip: how many columns stand before the attributes.
    """
    types = [ARROW_TYPES[kind] for kind in shape.types]
    names = ["__t", *(f"c{n}" for n in range(len(types)))]

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column(0):
                rows = unpacked(data.as_py())
                columns = [rows.column(0 if time_first else rows.num_columns - 1)]
                columns += [
                    rows.column(n) if rows.column(n).type == type_ else rows.column(n).cast(type_)
                    for n, type_ in enumerate(types, skip)
                ]
                yield pa.RecordBatch.from_arrays(columns, names=names)

    return run
