"""What the shards of a checkpoint hold, read without its query: Spark's reader of state, and our forms in it."""

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
from siddhi.spark.checkpoint.location import STAYS
from siddhi.spark.failures import message_of
from siddhi.spark.workers.stored_state import pieces_of

__all__ = ["StoredShard", "committed", "has_buffered_rows", "key_texts", "number_of_key", "stored_shards"]


@dataclass(frozen=True, slots=True)
class StoredShard:
    """A shard of a checkpoint.

    Attributes:
        number: of the shard.
        fingerprint: of the form of its island that wrote it.
        engine: version of this package that wrote it.
        version: how often it has been written.
        clock: the watermark it has been brought to, in ms.
        pieces: of the snapshot.
        pending: rows that wait for the watermark, packed: (rows, first event time, last event time, how many).
        due: when its timer is to fire, or None.
    """

    number: int
    fingerprint: str
    engine: str
    version: int
    clock: int
    pieces: dict[bytes, bytes]
    pending: Sequence[tuple[bytes, int, int, int]]
    due: int | None


def committed(spark: SparkSession, checkpoint: str) -> tuple[int | None, int | None]:
    """The last batch that was committed, and the last one that was planned; None where there is none."""
    found = []
    for folder in ("commits", "offsets"):
        numbers = [int(name) for name in files.names(spark, f"{checkpoint}/{folder}") if name.isdigit()]
        found.append(max(numbers, default=None))
    return found[0], found[1]


def stored_shards(
    spark: SparkSession, checkpoint: str, *, batch: int | None = None, numbers: Sequence[int] | None = None
) -> Iterator[StoredShard]:
    """The shards of a checkpoint, in the order of their numbers.

    Args:
        batch: after which to look; None: the last one that was committed.
        numbers: of shards; None: all.

    Raises:
        SparkRunError: no batch was committed, or Spark can't read what was.
    """
    if committed(spark, checkpoint)[0] is None:
        raise SparkRunError(f"checkpoint {checkpoint} holds no state: none of its batches has been committed")

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
        pending: dict[int, list[tuple[bytes, int, int, int]]] = {}
        for row in sorted(read("pending").collect(), key=lambda row: row["user_map_value"]["min_t"]):
            data, first, last, n = row["user_map_value"]
            pending.setdefault(row["key"]["shard"], []).append((bytes(data), first, last, n))
    for number in sorted({*metas, *pending}):
        meta = metas.get(number)
        yield StoredShard(
            number,
            fingerprint="" if meta is None else meta["plan"],
            engine="" if meta is None else meta["engine"],
            version=0 if meta is None else meta["version"],
            clock=0 if meta is None else meta["clock"],
            pieces=pieces_of(parts.get(number, {})),
            pending=pending.get(number, []),
            due=timers.get(number),
        )


@contextmanager
def _readable(checkpoint: str) -> Iterator[None]:
    """Say which checkpoint it is that Spark can't read."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise SparkRunError(
            f"the state of checkpoint {checkpoint} can't be read: {message_of(error)} ({STAYS})"
        ) from error


def has_buffered_rows(spark: SparkSession, checkpoint: str, numbers: Sequence[int]) -> bool:
    """Whether rows wait in shards of these numbers, after the last batch that was committed."""
    if committed(spark, checkpoint)[0] is None:
        return False
    with _readable(checkpoint):
        pending = spark.read.format("statestore").option("stateVarName", "pending").load(checkpoint)
        return not pending.where(F.col("key.shard").isin(list(numbers))).limit(1).isEmpty()


def key_texts(key: object) -> list[str | None]:
    """The parts of a key as the text by which they are spread."""
    parts = key if isinstance(key, tuple) else (key,)
    texts: list[str | None] = []
    for part in parts:
        if part is not None and not isinstance(part, (str, bool, int)):
            raise TypeError(f"a key is text, a whole number, a bool, or a tuple of these, not {part!r}")
        texts.append(None if part is None else str(part).lower() if isinstance(part, bool) else str(part))
    return texts


def number_of_key(spark: SparkSession, texts: Sequence[str | None], shards: int) -> int:
    """Which of so many shards a key goes to, as Spark says."""
    columns: list[Column] = [F.lit(text).cast("string") for text in texts]
    place = F.pmod(F.xxhash64(*columns), F.lit(shards).cast("bigint")).cast("int")
    return int(spark.range(1).select(place.alias("at")).collect()[0]["at"])
