"""The state of a checkpoint, read without its query by Spark's reader of state stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from siddhi.errors import SparkRunError
from siddhi.spark import files
from siddhi.spark.failures import message_of
from siddhi.spark.plan.state_keys import StateKeys
from siddhi.spark.workers.stored_state import blocks_of

__all__ = [
    "STATE_ENTRIES",
    "StoredShard",
    "committed",
    "has_buffered_rows",
    "key_texts",
    "number_of_key",
    "state_entries",
    "stored_shard",
    "stored_shards",
]

STATE_ENTRIES = "shard int, kind string, text string, data binary, x bigint, y bigint, n bigint"
"""Schema of the entries of a state. ``shard`` is a state key, ``kind`` the state variable: ``meta`` (text: fingerprint, x: version,
y: clock), ``timer`` (x: time), ``engine`` (text: name, data: blocks) or ``pending`` (data: rows, x: first event time, y: last, n:
number of rows)."""


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
    spark: SparkSession,
    checkpoint: str,
    keys: StateKeys,
    *,
    batch: int | None = None,
    numbers: Sequence[int] | None = None,
) -> Iterator[StoredShard]:
    """Yield the shards of a checkpoint, in the order of their numbers.

    Args:
        keys: state keys of its shards.
        batch: batch whose state is read; None: the last committed one.
        numbers: numbers of shards; None: all.

    Raises:
        SparkRunError: no batch was committed, or Spark can't read the state.
    """
    frame = state_entries(spark, checkpoint, batch=batch)
    if numbers is not None:
        frame = frame.where(F.col("shard").isin([keys.key(n) for n in numbers]))
    found: dict[int, list[Mapping[str, Any]]] = {}
    with _readable(checkpoint):
        for row in frame.collect():
            found.setdefault(keys.number(row["shard"]), []).append(row.asDict())
    for number in sorted(found):
        shard = stored_shard(number, found[number])
        if shard is not None:
            yield shard


def state_entries(spark: SparkSession, checkpoint: str, *, batch: int | None = None) -> DataFrame:
    """Return the entries of the state of all shards, in the schema of :data:`STATE_ENTRIES`.

    Raises:
        SparkRunError: no batch was committed, or Spark can't read the state.
    """
    if committed(spark, checkpoint)[0] is None:
        raise SparkRunError(f"checkpoint {checkpoint} holds no state: it has no committed batch")

    def read(variable: str, columns: Sequence[str]) -> DataFrame:
        reader = spark.read.format("statestore").option("stateVarName", variable)
        if batch is not None:
            reader = reader.option("batchId", batch)
        names = ("text", "data", "x", "y", "n")
        types = ("string", "binary", "bigint", "bigint", "bigint")
        each = (
            f"cast({column} as {type_}) as {name}" for name, type_, column in zip(names, types, columns, strict=True)
        )
        return reader.load(checkpoint).selectExpr("key.shard as shard", f"'{variable}' as kind", *each)

    value = "user_map_value"
    with _readable(checkpoint):
        return (
            read("meta", ("value.plan", "null", "value.version", "value.clock", "null"))
            .unionAll(read("timer", ("null", "null", "value.at", "null", "null")))
            .unionAll(read("engine", ("user_map_key.part", f"{value}.blob", "null", "null", "null")))
            .unionAll(read("pending", ("null", f"{value}.ipc", f"{value}.min_t", f"{value}.max_t", f"{value}.n")))
        )


def stored_shard(number: int, entries: Iterable[Mapping[str, Any]]) -> StoredShard | None:
    """Return a shard from the entries of its state; None: it holds nothing."""
    meta: Mapping[str, Any] | None = None
    due: int | None = None
    parts: dict[str, bytes] = {}
    buffered: list[tuple[bytes, int, int, int]] = []
    for entry in entries:
        if entry["kind"] == "meta":
            meta = entry
        elif entry["kind"] == "timer":
            due = entry["x"]
        elif entry["kind"] == "engine":
            parts[entry["text"]] = bytes(entry["data"])
        else:
            buffered.append((bytes(entry["data"]), entry["x"], entry["y"], entry["n"]))
    if meta is None and not buffered:
        return None
    return StoredShard(
        number,
        fingerprint="" if meta is None else meta["text"],
        version=0 if meta is None else meta["x"],
        clock=0 if meta is None else meta["y"],
        blocks=blocks_of(parts),
        buffered=sorted(buffered, key=lambda rows: rows[1]),
        due=due,
    )


@contextmanager
def _readable(checkpoint: str) -> Iterator[None]:
    """Name the checkpoint in an error of Spark's reader."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        raise SparkRunError(f"the state of checkpoint {checkpoint} can't be read: {message_of(error)}") from error


def has_buffered_rows(spark: SparkSession, checkpoint: str, numbers: Sequence[int], keys: StateKeys) -> bool:
    """Return whether shards of these numbers have buffered rows after the last committed batch."""
    if committed(spark, checkpoint)[0] is None:
        return False
    with _readable(checkpoint):
        buffered = spark.read.format("statestore").option("stateVarName", "pending").load(checkpoint)
        return not buffered.where(F.col("key.shard").isin([keys.key(n) for n in numbers])).limit(1).isEmpty()


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
