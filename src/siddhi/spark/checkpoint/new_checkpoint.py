"""A checkpoint made of state that is given: as if its query had run one batch, and read what that of another one has read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from siddhi._version import __version__
from siddhi.errors import SparkRunError
from siddhi.spark import files
from siddhi.spark.checkpoint.migration import MovedShard
from siddhi.spark.checkpoint.punctuation import adopt_punctuations
from siddhi.spark.query_settings import query_settings, with_settings
from siddhi.spark.workers.record_batch import EMITTED, decode, encode
from siddhi.spark.workers.stateful import LAYOUT_VERSION, FragmentProcessor
from siddhi.spark.workers.stored_state import base_entry
from siddhi.spark.workers.watermark_buffer import new_token

__all__ = ["StateWriter", "adopt_log", "write_state"]

_MAX_BYTES = 64 << 20
_NOTHING = MovedShard(-1, "", 0, 0, {}, [], None)
_LOG = re.compile(r"[0-9]+(\.compact)?")
_PUNCTUATION_IN_LOG = re.compile(r'\{"path":"[^"]*/siddhi/punctuation/[^"/]+/mark-[^"/]+\.parquet"')
_SCHEMA = "shard int, rows binary, at timestamp"


class StateWriter(FragmentProcessor):
    """Writes state that is given, in the form in which :class:`IslandProcessor` finds it."""

    def __init__(self) -> None:
        super().__init__((), 1, 0, "", "drop", 0)

    def handleInputRows(
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002 - Spark hands it in
    ) -> Iterator[pd.DataFrame]:
        """Write the state of a shard."""
        for frame in rows:
            for data in frame["rows"]:
                self._write(int(key[0]), decode(bytes(data)))
        return iter(())

    def _write(self, shard: int, parts: pa.RecordBatch) -> None:
        pending: list[tuple[bytes, int, int, int]] = []
        due: int | None = None
        for name, data in zip(parts.column(0).to_pylist(), parts.column(1).to_pylist(), strict=True):
            told = json.loads(name)
            if told[0] == "meta":
                _, plan, version, clock = told
                self._meta.update((LAYOUT_VERSION, plan, __version__, version, clock, new_token()))
            elif told[0] == "engine":
                self._engine.updateValue((told[1],), (told[2], data))
            elif told[0] == "pending":
                _, first, last, n = told
                pending.append((data, first, last, n))
            else:
                due = told[1]
        if due is not None:
            self._buffer.put(shard, pending, due)


def _parts(shard: MovedShard) -> bytes:
    """A shard as names, which say what they are of, and data."""
    found: list[tuple[Sequence[object], bytes | None]] = []
    if shard.pieces:
        found.append((["meta", shard.fingerprint, shard.version, shard.clock], None))
        (part, format_), data = base_entry(shard.pieces)
        found.append((["engine", part, format_], data))
    found += ((["pending", first, last, n], data) for data, first, last, n in shard.pending)
    if shard.due is not None:
        found.append((["due", shard.due], None))
    names = pa.array([json.dumps(name) for name, _ in found], pa.string())
    columns = [names, pa.array([data for _, data in found], pa.binary())]
    return encode(pa.RecordBatch.from_arrays(columns, names=["name", "data"]))


def _write_shards(spark: SparkSession, folder: str, held: Sequence[tuple[int, bytes]]) -> None:
    frame = spark.createDataFrame(list(held), "shard int, rows binary")
    at = F.timestamp_millis(F.lit(0)).alias("at")  # a watermark that says nothing
    frame.select("*", at).write.mode("append").parquet(folder)


def write_state(spark: SparkSession, checkpoint: str, shards: Iterable[MovedShard], partitions: int) -> None:
    """Make a checkpoint whose stateful operator has this state after its first batch, batch 0.

    Args:
        checkpoint: a folder that is not there.
        shards: the state.
        partitions: of the operator.
    """
    folder = f"{checkpoint}/siddhi/moved"
    held: list[tuple[int, bytes]] = [(-1, _parts(_NOTHING))]  # without a row there would be no batch
    for shard in shards:
        held.append((shard.number, _parts(shard)))
        if sum(len(data) for _, data in held) > _MAX_BYTES:
            _write_shards(spark, folder, held)
            held = []
    _write_shards(spark, folder, held)
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
    """Let a checkpoint that has done batch 0 go on where another one was after a batch.

    Raises:
        SparkRunError: this version of Spark keeps its logs in a form that is not known.
    """
    then, now = (_log(spark, f"{where}/offsets/{n}") for where, n in ((old, batch), (new, 0)))
    done, made = (_log(spark, f"{where}/commits/{n}") for where, n in ((old, batch), (new, 0)))
    told, telling = json.loads(then[1]), json.loads(now[1])
    telling |= {name: told[name] for name in ("batchWatermarkMs", "batchTimestampMs")}
    committed = {**json.loads(made[1]), "nextBatchWatermarkMs": json.loads(done[1])["nextBatchWatermarkMs"]}
    files.delete(spark, f"{new}/sources")
    files.copy(spark, f"{old}/sources", f"{new}/sources")
    for source in files.names(spark, f"{new}/sources"):
        _forget_punctuations(spark, f"{new}/sources/{source}")
    files.write_text(spark, f"{new}/offsets/0", "\n".join([now[0], json.dumps(telling), *then[2:]]))
    files.write_text(spark, f"{new}/commits/0", "\n".join([made[0], json.dumps(committed)]))
    times = files.text_of(spark, f"{old}/siddhi/times.json")
    if times is not None:
        files.write_text(spark, f"{new}/siddhi/times.json", times)
    adopt_punctuations(spark, old, new)


def _forget_punctuations(spark: SparkSession, log: str) -> None:
    """Let a source of marks have read as many batches, and no file: it names those of the old checkpoint, and reads the folder
    of the new one. Sources of others are left alone."""
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
            f"{name} has form {lines[0]}, which is not known: migrate with the version of Spark that wrote it"
        )
    return lines
