"""The state of a checkpoint under more shards: every shard is split, each of its parts keeps the keys that are its own.

A checkpoint of Spark can't be given other shards, so a new one is made: a query of its own writes the split state as its first
batch, and the log of what was read is that of the old checkpoint. The state passes through this process, shard by shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.planner.distribution.distribution import distributions
from siddhi.planner.distribution.sub_app import SubApp
from siddhi.planner.key_expressions import key_expression, range_conditions
from siddhi.planner.plan.elements import ElementKind
from siddhi.planner.plan.nodes import PartitionPlan, Plan, QueryPlan
from siddhi.spark.catalyst.fragment_rows import shard_of, shards_of_labels
from siddhi.spark.catalyst.frames import TIME
from siddhi.spark.catalyst.stages import lowering_over
from siddhi.spark.checkpoint.inspection import key_indexes, readable
from siddhi.spark.checkpoint.key_ranges import KeyRange
from siddhi.spark.checkpoint.stored import StoredShard, key_texts
from siddhi.spark.workers.input_schema import InputSchema, upgrade_rows
from siddhi.spark.workers.program import is_query_timed
from siddhi.spark.workers.record_batch import decode, encode

__all__ = ["MovedShard", "split_shards", "unsplittable"]


@dataclass(frozen=True, slots=True)
class MovedShard:
    """A shard as it is to be written.

    Attributes:
        number: of the shard.
        fingerprint: of the form of its island that it fits.
        clock: the watermark it has been brought to, in ms.
        version: how often it has been written.
        pieces: of the snapshot; none where rows wait in it and that is all.
        pending: rows that wait, packed: (rows, first event time, last event time, how many).
        due: when its timer is to fire, or None.
    """

    number: int
    fingerprint: str
    clock: int
    version: int
    pieces: Mapping[bytes, bytes]
    pending: Sequence[tuple[bytes, int, int, int]]
    due: int | None


def unsplittable(plan: Plan, key_range: KeyRange) -> Iterator[str]:
    """Why the state of an island can't be split by its key; clauses.

    What a partition keeps for a key is known by the key. Other elements are copied whole into each part: what they keep for the
    keys of other parts is met by no event any more, which does no harm unless time makes it come out.
    """
    if not key_range.keys:
        return
    executions = {execution.name: execution for execution in plan.executions}
    for element in distributions(plan):
        if element.name not in key_range.names or not element.stateful:
            continue
        execution = executions.get(element.name)
        if isinstance(execution, PartitionPlan):
            continue
        if element.kind is not ElementKind.QUERY or not isinstance(execution, QueryPlan):
            yield f"{element.kind.value} '{element.name}' keeps the events of all keys together"
        elif is_query_timed(execution):
            yield f"query '{element.name}' keeps what time brings out for all keys together: put it into a partition"


def split_shards(
    spark: SparkSession, plan: Plan, before: KeyRange, now: KeyRange, stored: Iterable[StoredShard]
) -> Iterator[MovedShard]:
    """The shards of an island split into more.

    Args:
        spark: which says where a key goes.
        plan: of the app.
        before: the slot of the island.
        now: the slot it is to have.
        stored: its shards.
    """
    for shard in stored:
        place = shard.number - before.first
        children = range(place, now.shards, before.shards) if before.keys else range(place, place + 1)
        rows = _RowsByChild(spark, plan, now, children)
        buffered = rows.split(shard.pending)
        # What is split has been through an engine of the island as it is now.
        fingerprint = shard.fingerprint if len(children) == 1 else SubApp.from_json(now.sub_app).fingerprint
        with readable(shard, before):
            pieces = _split_state(spark, now, {} if shard.fingerprint in before.left else shard.pieces, children)
        for child in children:
            mine = buffered.get(child, [])
            held = pieces.get(child, {})
            if mine or held:
                nexts = [first + 1 for _, first, _, _ in mine]
                nexts += [shard.due] if shard.due is not None and held else []
                yield MovedShard(
                    now.first + child,
                    fingerprint,
                    shard.clock,
                    shard.version,
                    held,
                    mine,
                    min(nexts) if nexts else None,
                )


def _split_state(
    spark: SparkSession, key_range: KeyRange, pieces: Mapping[bytes, bytes], children: Sequence[int]
) -> dict[int, dict[bytes, bytes]]:
    """By part, the snapshot with no more than its keys."""
    if not pieces:
        return {}
    if len(children) == 1:
        return {children[0]: dict(pieces)}
    found: dict[int, dict[bytes, bytes]] = {}
    runtime = SiddhiManager().create_siddhi_app_runtime(key_range.text)
    with runtime:
        _leave_tables_out(runtime, key_range)
        runtime.restore_pieces(pieces)
        partitions = [name for name, _ in key_indexes(runtime.plan, key_range)]
        texts = sorted({text for name in partitions for text in _keys_of(runtime, name)})
        shards = dict(zip(texts, _shards_of(spark, texts, key_range.shards), strict=True))
        for child in children:
            if child != children[0]:
                runtime.restore_pieces(pieces)
            for name in partitions:
                runtime.sharding.retain_keys(name, lambda key, child=child: shards[_text(key)] == child)  # type: ignore[misc]
            cut = runtime.snapshot_pieces()
            found[child] = {name: data for name, data in cut.items() if data is not None}
    return found


def _leave_tables_out(runtime: SiddhiAppRuntime, key_range: KeyRange) -> None:
    for table in SubApp.from_json(key_range.sub_app).fills:
        runtime.sharding.leave_out(f"table '{table}'")


def _keys_of(runtime: SiddhiAppRuntime, partition: str) -> list[str]:
    texts: list[str] = []

    def note(key: object) -> bool:
        texts.append(_text(key))
        return True

    runtime.sharding.retain_keys(partition, note)
    return texts


def _text(key: object) -> str:
    (text,) = key_texts(key)
    assert text is not None  # partitions have no null keys
    return text


def _shards_of(spark: SparkSession, texts: Sequence[str], shards: int) -> list[int]:
    """Where keys go, as Spark says."""
    if not texts:
        return []
    frame = spark.createDataFrame(pa.table({"at": range(len(texts)), "key": pa.array(texts, pa.string())}))
    place = F.pmod(F.xxhash64(F.col("key")), F.lit(shards).cast("bigint")).cast("int")
    return [row["shard"] for row in frame.select("at", place.alias("shard")).orderBy("at").collect()]


class _RowsByChild:
    """Deals waiting rows out to the parts of a shard, by their keys."""

    def __init__(self, spark: SparkSession, plan: Plan, key_range: KeyRange, children: Sequence[int]) -> None:
        self._spark = spark
        self._plan = plan
        self._key_range = key_range
        self._children = children

    def split(self, pending: Sequence[tuple[bytes, int, int, int]]) -> dict[int, list[tuple[bytes, int, int, int]]]:
        if not pending:
            return {}
        if len(self._children) == 1:
            return {self._children[0]: list(pending)}
        now, earlier = (
            InputSchema.from_json(self._key_range.input_schema),
            [InputSchema.from_json(schema) for schema in self._key_range.earlier_schemas],
        )
        batches = [upgrade_rows(decode(data), now, earlier) for data, *_ in pending]
        rows = next(iter(pa.Table.from_batches(batches).combine_chunks().to_batches()), batches[0])
        found: dict[int, list[tuple[bytes, int, int, int]]] = {}
        places = self._places(rows)
        for child in self._children:
            # None: to every shard, of which this one was one.
            mine = rows.filter(pa.array([at is None or child in at for at in places], pa.bool_()))
            if mine.num_rows:
                bounds = pc.min_max(mine.column(0)).as_py()
                found[child] = [(encode(mine), bounds["min"], bounds["max"], mine.num_rows)]
        return found

    def _places(self, rows: pa.RecordBatch) -> list[Sequence[int] | None]:
        """The shards of each row; None: all."""
        schema = InputSchema.from_json(self._key_range.input_schema)
        ordering = rows.num_columns - len(schema.columns)  # what orders rows stands before what the door takes
        found: list[Sequence[int] | None] = [(self._children[0],)] * rows.num_rows
        at = rows.column(ordering).to_pylist() if schema.is_of_several else None
        for number, (stream, key_ranges) in enumerate(schema.inputs):
            mine = [n for n in range(rows.num_rows) if at is None or at[n] == number]
            texts = self._key_range.keys[stream]
            if texts is None:
                for n in mine:
                    found[n] = None
            elif texts and mine:
                part = rows.take(pa.array(mine))
                names = [f"c{n}" for n in range(len(key_ranges))]
                table = pa.table([part.column(ordering + key_range) for key_range in key_ranges], names=names)
                times = part.column(0)  # which conditions may ask for
                for n, shards in zip(
                    mine, self._route_rows(stream, texts, table.append_column(TIME, times)), strict=True
                ):
                    found[n] = shards
        return found

    def _route_rows(self, stream: str, texts: Sequence[str], table: pa.Table) -> list[list[int]]:
        columns = [F.col(f"`{name}`") for name in table.column_names[:-1]]
        ranges = range_conditions(self._plan, stream, texts[0])
        if ranges:
            shards = shards_of_labels(ranges, columns, self._key_range.shards)
        else:
            lower = lowering_over(columns)
            typed = [key_expression(self._plan, stream, text) for text in texts]
            shards = F.array(
                shard_of([(lower(expression), expression) for expression in typed], self._key_range.shards)
            )
        numbered = table.append_column("__n", pa.array(range(table.num_rows)))
        frame = self._spark.createDataFrame(numbered)
        return [row["shards"] for row in frame.select("__n", shards.alias("shards")).orderBy("__n").collect()]
