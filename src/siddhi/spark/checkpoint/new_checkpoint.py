"""Write a checkpoint from given state, as if its query had run one batch, and adopt the log of another checkpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from siddhi._version import __version__
from siddhi.errors import SparkRunError
from siddhi.spark import files
from siddhi.spark.checkpoint.punctuation import adopt_punctuations
from siddhi.spark.checkpoint.stored import StoredShard, stored_shard
from siddhi.spark.failures import run_errors
from siddhi.spark.plan.state_keys import NUMBERS, StateKeys
from siddhi.spark.query_settings import query_settings, with_settings
from siddhi.spark.workers.record_batch import EMITTED, decode, encode
from siddhi.spark.workers.stateful import LAYOUT_VERSION, FragmentProcessor
from siddhi.spark.workers.stored_state import base_entry
from siddhi.spark.workers.watermark_buffer import new_token

__all__ = ["StateWriter", "adopt_log", "encode_moved", "encode_shard", "write_moved_state", "write_state"]

_MAX_BYTES = 64 << 20
_NO_STATE = StoredShard(-1, "", 0, 0, {}, [], None)
_LOG = re.compile(r"[0-9]+(\.compact)?")
_PUNCTUATION_IN_LOG = re.compile(r'\{"path":"[^"]*/siddhi/punctuation/[^"/]+/mark-[^"/]+\.parquet"')
_SCHEMA = "shard int, rows binary, at timestamp"


class StateWriter(FragmentProcessor):
    """Writes given state in the layout of :class:`FragmentProcessor`."""

    def __init__(self) -> None:
        super().__init__((), 1, 0, "", "drop", 0, (), StateKeys(NUMBERS, 1))

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002 - passed by Spark
    ) -> Iterator[pd.DataFrame]:
        """Write the state of a shard."""
        for frame in rows:
            for data in frame["rows"]:
                self._write(int(key[0]), decode(bytes(data)))
        return iter(())

    def _write(self, shard: int, rows: pa.RecordBatch) -> None:
        about = json.loads(rows.schema.metadata[b"shard"])
        blobs = rows.column(0).to_pylist()
        if about["state"] is not None:
            fingerprint, version, clock, part, format_ = about["state"]
            self._meta.update((LAYOUT_VERSION, fingerprint, __version__, version, clock, new_token()))
            self._engine.updateValue((part,), (format_, blobs.pop()))
        buffered = [(data, *bounds) for data, bounds in zip(blobs, about["buffered"], strict=True)]
        if about["due"] is not None:
            self._buffer.put(shard, buffered, about["due"])


def encode_shard(shard: StoredShard) -> bytes:
    """Return a shard for :class:`StateWriter`: its buffered rows and then its state, with the rest as metadata."""
    blobs = [data for data, *_ in shard.buffered]
    about: dict[str, Any] = {"state": None, "buffered": [bounds for _, *bounds in shard.buffered], "due": shard.due}
    if shard.blocks:
        part, (format_, blob) = base_entry(shard.blocks)
        about["state"] = [shard.fingerprint, shard.version, shard.clock, part, format_]
        blobs.append(blob)
    rows = pa.RecordBatch.from_arrays([pa.array(blobs, pa.binary())], names=["data"])
    return encode(rows.replace_schema_metadata({b"shard": json.dumps(about).encode()}))


def _write_shards(spark: SparkSession, folder: str, shards: Sequence[tuple[int, bytes]]) -> None:
    frame = spark.createDataFrame(list(shards), "shard int, rows binary")
    frame.select("*", _start_of_time()).write.mode("append").parquet(folder)


def write_state(
    spark: SparkSession, checkpoint: str, shards: Iterable[StoredShard], partitions: int, keys: StateKeys
) -> None:
    """Write a checkpoint whose stateful operator has the given state after batch 0.

    Args:
        checkpoint: a folder that does not exist.
        shards: the state.
        partitions: number of partitions of the operator.
        keys: state keys of the shards.
    """
    folder = _moved(checkpoint)
    encoded: list[tuple[int, bytes]] = [(-1, encode_shard(_NO_STATE))]  # without rows, Spark runs no batch
    for shard in shards:
        encoded.append((keys.key(shard.number), encode_shard(shard)))
        if sum(len(data) for _, data in encoded) > _MAX_BYTES:
            _write_shards(spark, folder, encoded)
            encoded = []
    _write_shards(spark, folder, encoded)
    _run_writer(spark, checkpoint, partitions)


def write_moved_state(
    spark: SparkSession, checkpoint: str, entries: DataFrame, partitions: int, move: Callable[[pa.Table], pa.Table]
) -> None:
    """Write a checkpoint from the state of another one; the workers move it, and nothing of it passes through this process.

    Args:
        checkpoint: a folder that does not exist.
        entries: the state, see :func:`siddhi.spark.checkpoint.stored.state_entries`.
        partitions: number of partitions of the operator.
        move: function of :func:`encode_moved`.

    Raises:
        SparkRunError: the state of a shard can't be read.
    """
    folder = _moved(checkpoint)
    _write_shards(spark, folder, [(-1, encode_shard(_NO_STATE))])
    with run_errors():
        moved = entries.groupBy("shard").applyInArrow(move, "shard int, rows binary")
        moved.select("*", _start_of_time()).write.mode("append").parquet(folder)
    _run_writer(spark, checkpoint, partitions)


def encode_moved(
    before: StateKeys, now: StateKeys, move: Callable[[StoredShard], StoredShard | None]
) -> Callable[[pa.Table], pa.Table]:
    """Return the function for ``applyInArrow`` that encodes one shard for :class:`StateWriter`.

    Args:
        before: state keys of the shards as they are.
        now: state keys of the shards as they are written.
        move: function that returns the shard with its new number; None: the shard is left out.
    """

    def run(entries: pa.Table) -> pa.Table:
        found = stored_shard(before.number(entries.column("shard")[0].as_py()), entries.to_pylist())
        moved = None if found is None else move(found)
        shards = [] if moved is None else [(now.key(moved.number), encode_shard(moved))]
        columns = [
            pa.array([key for key, _ in shards], pa.int32()),
            pa.array([data for _, data in shards], pa.binary()),
        ]
        return pa.Table.from_arrays(columns, names=["shard", "rows"])

    return run


def _moved(checkpoint: str) -> str:
    return f"{checkpoint}/siddhi/moved"


def _start_of_time() -> Column:
    """Return the event time of all rows, which keeps the watermark at its start."""
    return F.timestamp_millis(F.lit(0)).alias("at")


def _run_writer(spark: SparkSession, checkpoint: str, partitions: int) -> None:
    """Write the state whose shards are in the folder of moved shards, and delete that folder."""
    folder = _moved(checkpoint)
    rows = spark.readStream.schema(_SCHEMA).parquet(folder).withWatermark("at", "0 seconds").drop("at")
    out = rows.groupBy("shard").transformWithStateInPandas(
        statefulProcessor=StateWriter(), outputStructType=EMITTED, outputMode="Append", timeMode="EventTime"
    )
    settings = {**query_settings(partitions), "spark.sql.streaming.noDataMicroBatches.enabled": "false"}
    with with_settings(spark, settings):
        writer = out.writeStream.format("noop").option("checkpointLocation", checkpoint).outputMode("append")
        query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    files.delete(spark, folder)


def adopt_log(spark: SparkSession, old: str, batch: int, new: str) -> None:
    """Make a checkpoint after batch 0 continue where another checkpoint was after a batch.

    Raises:
        SparkRunError: the logs have a format of an unknown Spark version.
    """
    old_offsets, new_offsets = (_log(spark, f"{where}/offsets/{n}") for where, n in ((old, batch), (new, 0)))
    old_commit, new_commit = (_log(spark, f"{where}/commits/{n}") for where, n in ((old, batch), (new, 0)))
    before, now = json.loads(old_offsets[1]), json.loads(new_offsets[1])
    now |= {name: before[name] for name in ("batchWatermarkMs", "batchTimestampMs")}
    watermark = json.loads(old_commit[1])["nextBatchWatermarkMs"]
    done = {**json.loads(new_commit[1]), "nextBatchWatermarkMs": watermark}
    files.delete(spark, f"{new}/sources")
    files.copy(spark, f"{old}/sources", f"{new}/sources")
    for source in files.names(spark, f"{new}/sources"):
        _forget_punctuations(spark, f"{new}/sources/{source}")
    files.write_text(spark, f"{new}/offsets/0", "\n".join([new_offsets[0], json.dumps(now), *old_offsets[2:]]))
    files.write_text(spark, f"{new}/commits/0", "\n".join([new_commit[0], json.dumps(done)]))
    times = files.text_of(spark, f"{old}/siddhi/times.json")
    if times is not None:
        files.write_text(spark, f"{new}/siddhi/times.json", times)
    adopt_punctuations(spark, old, new)


def _forget_punctuations(spark: SparkSession, log: str) -> None:
    """Remove the files from the log of a punctuation source: they are those of the old checkpoint. Other logs stay."""
    names = [name for name in files.names(spark, log) if _LOG.fullmatch(name)]
    for name in names:
        head, *entries = files.read_text(spark, f"{log}/{name}").splitlines()
        if entries and not _PUNCTUATION_IN_LOG.match(entries[0]):
            return
        if entries:
            files.write_text(spark, f"{log}/{name}", head)


def _log(spark: SparkSession, name: str) -> list[str]:
    lines = files.read_text(spark, name).splitlines()
    if lines[0] != "v1" or len(lines) < 2:
        raise SparkRunError(
            f"{name} has the unknown log format {lines[0]}: migrate with the Spark version that wrote the checkpoint"
        )
    return lines
