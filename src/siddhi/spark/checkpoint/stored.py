"""The state of a checkpoint, read without its query by Spark's reader of state stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from siddhi.errors import SparkRunError
from siddhi.spark import files
from siddhi.spark.failures import message_of
from siddhi.spark.workers.stored_state import blocks_of

__all__ = ["StoredShard", "committed", "has_buffered_rows", "key_texts", "number_of_key", "stored_shards"]


@dataclass(frozen=True, slots=True)
class StoredShard:
    """A shard of a checkpoint.

    Attributes:
        number: number of the shard.
        fingerprint: fingerprint of the form of its fragment that wrote the state.
        version: number of writes so far.
        clock: watermark of the last write, in ms.
        blocks: snapshot blocks; none: the shard has buffered rows only.
        buffered: encoded record batches that wait for the watermark: (rows, first event time, last event time, number of rows).
        due: time of its timer, or None.
    """

    number: int
    fingerprint: str
    version: int
    clock: int
    blocks: dict[bytes, bytes]
    buffered: Sequence[tuple[bytes, int, int, int]]
    due: int | None


def committed(spark: SparkSession, checkpoint: str) -> tuple[int | None, int | None]:
    """Return the number of the last committed batch and of the last planned batch; None: there is none."""
    found = []
    for folder in ("commits", "offsets"):
        numbers = [int(name) for name in files.names(spark, f"{checkpoint}/{folder}") if name.isdigit()]
        found.append(max(numbers, default=None))
    return found[0], found[1]


def stored_shards(
    spark: SparkSession, checkpoint: str, *, batch: int | None = None, numbers: Sequence[int] | None = None
) -> Iterator[StoredShard]:
    """Yield the shards of a checkpoint, in the order of their numbers.

    Args:
        batch: batch whose state is read; None: the last committed one.
        numbers: numbers of shards; None: all.

    Raises:
        SparkRunError: no batch was committed, or Spark can't read the state.
    """
    if committed(spark, checkpoint)[0] is None:
        raise SparkRunError(f"checkpoint {checkpoint} holds no state: it has no committed batch")

    def read(variable: str) -> DataFrame:
        reader = spark.read.format("statestore").option("stateVarName", variable)
        if batch is not None:
            reader = reader.option("batchId", batch)
        frame = reader.load(checkpoint)
        return frame if numbers is None else frame.where(F.col("key.shard").isin(list(numbers)))

    with _readable(checkpoint):
        metas = {row["key"]["shard"]: row["value"] for row in read("meta").collect()}
        timers = {row["key"]["shard"]: row["value"]["at"] for row in read("timer").collect()}
        parts: dict[int, dict[str, bytes]] = {}
        for row in read("engine").collect():
            held = parts.setdefault(row["key"]["shard"], {})
            held[row["user_map_key"]["part"]] = bytes(row["user_map_value"]["blob"])
        buffered: dict[int, list[tuple[bytes, int, int, int]]] = {}
        for row in sorted(read("pending").collect(), key=lambda row: row["user_map_value"]["min_t"]):
            data, first, last, n = row["user_map_value"]
            buffered.setdefault(row["key"]["shard"], []).append((bytes(data), first, last, n))
    for number in sorted({*metas, *buffered}):
        meta = metas.get(number)
        yield StoredShard(
            number,
            fingerprint="" if meta is None else meta["plan"],
            version=0 if meta is None else meta["version"],
            clock=0 if meta is None else meta["clock"],
            blocks=blocks_of(parts.get(number, {})),
            buffered=buffered.get(number, []),
            due=timers.get(number),
        )


@contextmanager
def _readable(checkpoint: str) -> Iterator[None]:
    """Name the checkpoint in an error of Spark's reader."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise SparkRunError(f"the state of checkpoint {checkpoint} can't be read: {message_of(error)}") from error


def has_buffered_rows(spark: SparkSession, checkpoint: str, numbers: Sequence[int]) -> bool:
    """Return whether shards of these numbers have buffered rows after the last committed batch."""
    if committed(spark, checkpoint)[0] is None:
        return False
    with _readable(checkpoint):
        buffered = spark.read.format("statestore").option("stateVarName", "pending").load(checkpoint)
        return not buffered.where(F.col("key.shard").isin(list(numbers))).limit(1).isEmpty()


def key_texts(key: object) -> list[str | None]:
    """Return the parts of a key as the texts that are hashed.

    Raises:
        TypeError: a part has another type than a key can have.
    """
    parts = key if isinstance(key, tuple) else (key,)
    texts: list[str | None] = []
    for part in parts:
        if part is not None and not isinstance(part, (str, bool, int)):
            raise TypeError(f"invalid key {part!r}: expected a string, an integer, a bool or a tuple of these")
        texts.append(None if part is None else str(part).lower() if isinstance(part, bool) else str(part))
    return texts


def number_of_key(spark: SparkSession, texts: Sequence[str | None], shards: int) -> int:
    """Return the shard of a key, computed by Spark."""
    columns: list[Column] = [F.lit(text).cast("string") for text in texts]
    shard = F.pmod(F.xxhash64(*columns), F.lit(shards).cast("bigint")).cast("int")
    return int(spark.range(1).select(shard.alias("at")).collect()[0]["at"])
