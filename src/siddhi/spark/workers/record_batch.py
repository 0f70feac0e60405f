"""Encode rows for the stateful operator and decode its output: LZ4 Arrow streams, one per shard in and one per output out.

The Pandas bridge passes them as bytes, so a null stays null and a long stays a long.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siddhi.spark.plan.state_keys import StateKeys
from siddhi.spark.workers.input_schema import InputSchema, with_schema_id
from siddhi.spark.workers.program import FragmentProgram, OutputShape
from siddhi.spark.workers.shard import ARROW_TYPES
from siddhi.spark.workers.worker import freeze_modules

__all__ = ["EMITTED", "ENCODED", "RowLayout", "decode", "decode_late", "decode_output", "encode", "encode_rows"]

ENCODED = "shard int, n bigint, rows binary"
"""Schema of the operator's input; ``shard`` is a state key."""
EMITTED = "out int, shard int, n bigint, rows binary"
"""Schema of the operator's output."""

_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READ = pa.ipc.IpcReadOptions(use_threads=False)
_BATCH_BYTES = 32 << 20
"""Bytes of rows that are split by shard at once; larger batches have fewer and larger parts."""
_MAX_SMALL = 1 << 16


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The columns of rows on their way to the shards: shard, fragment, order columns, columns of the input schemas.

    A value that all rows share is not sent.

    Attributes:
        input_columns: by fragment, the columns of its input schema, counted from the first one after the order columns.
        order: value of each order column that all rows share; None: it is sent.
        fragment: fragment that all rows are for; None: it is sent.
    """

    input_columns: tuple[tuple[int, ...], ...]
    order: tuple[int | None, ...]
    fragment: int | None = None


def encode(batch: pa.RecordBatch) -> bytes:
    """Return a batch as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=_OPTIONS) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def decode(data: bytes) -> pa.RecordBatch:
    """Return the batch of :func:`encode`."""
    with pa.ipc.open_stream(data, options=_READ) as reader:
        return reader.read_next_batch()


def encode_rows(
    programs: tuple[FragmentProgram, ...], layout: RowLayout, input_columns: Sequence[InputSchema], keys: StateKeys
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function for ``mapInArrow`` in front of the shuffle.

    Args:
        programs: programs of the fragments.
        layout: columns of the rows.
        input_columns: input schemas of the fragments.
        keys: state keys of the shards.
    """
    names = [schema.schema_id for schema in input_columns]

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_modules()
        waiting: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            waiting.append(batch)
            size += batch.nbytes
            if size >= _BATCH_BYTES:
                yield from _encoded_batches(waiting, programs, layout, names, keys)
                waiting, size = [], 0
        yield from _encoded_batches(waiting, programs, layout, names, keys)

    return run


def _encoded_batches(
    batches: list[pa.RecordBatch],
    programs: tuple[FragmentProgram, ...],
    layout: RowLayout,
    input_columns: Sequence[str],
    keys: StateKeys,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some batches, encoded by shard."""
    merged = pa.Table.from_batches(batches).combine_chunks().to_batches() if batches else []
    for batch in merged:
        shards = batch.column(0).to_numpy()
        narrow = shards.astype(np.uint16) if shards.min() >= 0 and shards.max() < _MAX_SMALL else shards
        order = np.argsort(narrow, kind="stable")  # a radix sort for 16 bits
        rows = batch.take(pa.array(order))
        sorted_shards = shards[order]
        starts = [0, *(np.flatnonzero(np.diff(sorted_shards)) + 1).tolist(), len(sorted_shards)]
        found: list[tuple[int, int, bytes]] = []
        for start, stop in itertools.pairwise(starts):
            part = rows.slice(start, stop - start)
            found.append(
                (int(sorted_shards[start]), stop - start, encode(_slim(part, programs, layout, input_columns)))
            )
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([keys.key(shard) for shard, _, _ in found], pa.int32()),
                pa.array([n for _, n, _ in found], pa.int64()),
                pa.array([data for _, _, data in found], pa.binary()),
            ],
            names=["shard", "n", "rows"],
        )


def _slim(
    rows: pa.RecordBatch, programs: tuple[FragmentProgram, ...], layout: RowLayout, input_columns: Sequence[str]
) -> pa.RecordBatch:
    """Return the rows of one shard with the order columns and those of their input schema."""
    at = 1
    fragment = layout.fragment
    if fragment is None:
        fragment, at = rows.column(1)[0].as_py(), 2
    columns = []
    for value in layout.order:
        if value is None:
            columns.append(rows.column(at))
            at += 1
        else:
            columns.append(pa.array(np.full(rows.num_rows, value, np.int32)))
    columns += [rows.column(at + n) for n in layout.input_columns[fragment]]
    names = [*(f"o{n}" for n in range(len(layout.order))), *programs[fragment].columns]
    return with_schema_id(pa.RecordBatch.from_arrays(columns, names=names), input_columns[fragment])


def decode_output(shape: OutputShape) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function for ``mapInArrow`` that decodes the rows of one output stream.

    Its input has one binary column; its output has ``__t``, then ``c0`` to ``cn``.

    Args:
        shape: the stream.
    """

    def columns_of(rows: pa.RecordBatch) -> list[pa.Array]:
        return [rows.column(rows.num_columns - 1), *rows.columns[: len(shape.types)]]

    return _decoder(columns_of, shape.types)


def decode_late(
    kinds: Sequence[str], ordering: int, source: int
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function for ``mapInArrow`` that decodes the late rows of one bound stream, which are as they came in.

    Args:
        kinds: types of the columns of the input schema.
        ordering: number of order columns before them; the first is event time, the second the source.
        source: source number of the stream.
    """

    def columns_of(rows: pa.RecordBatch) -> list[pa.Array]:
        mine = rows.filter(pc.equal(rows.column(1), source))
        return [mine.column(0), *mine.columns[ordering : ordering + len(kinds)]]

    return _decoder(columns_of, kinds)


def _decoder(
    columns_of: Callable[[pa.RecordBatch], list[pa.Array]], kinds: Sequence[str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    types = [pa.int64(), *(ARROW_TYPES[kind] for kind in kinds)]
    names = ["__t", *(f"c{n}" for n in range(len(kinds)))]

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_modules()
        for batch in batches:
            for data in batch.column(0):
                columns = [
                    column if column.type == type_ else column.cast(type_)
                    for column, type_ in zip(columns_of(decode(data.as_py())), types, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(columns, names=names)

    return run
