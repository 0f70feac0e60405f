"""Split the state of a checkpoint into more shards: every part of a shard keeps the keys that belong to it.

Spark can't change the number of shards of a checkpoint. A migration writes a new checkpoint, whose first batch is the split
state and whose log is that of the old one. A state that is split passes through this process, shard by shard; one that only goes
to other tasks does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

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

__all__ = ["RowsByShard", "moved_shard", "split_shards", "unsplittable"]


def unsplittable(plan: Plan, key_range: KeyRange) -> Iterator[str]:
    """Yield why the state of a fragment can't be split by its key; clauses.

    The state of a partition is known by key. The state of any other element is copied to every part: what it holds for the
    keys of other parts meets no event any more, which is harmless unless time makes it emit.
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
            yield f"{element.kind.value} '{element.name}' holds the events of all keys together"
        elif is_query_timed(execution):
            yield f"query '{element.name}' has timers for all keys together: move it into a partition"


def split_shards(
    spark: SparkSession, plan: Plan, before: KeyRange, now: KeyRange, stored: Iterable[StoredShard]
) -> Iterator[StoredShard]:
    """Yield the shards of a fragment, split into more.

    Args:
        spark: session that hashes keys.
        plan: plan of the app.
        before: key range of the fragment.
        now: its new key range.
        stored: its shards.
    """
    for shard in stored:
        number = shard.number - before.first
        children = range(number, now.shards, before.shards) if before.keys else range(number, number + 1)
        if len(children) == 1:
            moved = moved_shard(before, now, shard)
            if moved is not None:
                yield moved
            continue
        rows = RowsByShard(spark, plan, now, children).split(shard.buffered)
        # A state that is split passes through an engine of the current form.
        fingerprint = SubApp.from_json(now.sub_app).fingerprint
        with readable(shard, before):
            blocks = _split_state(spark, now, {} if shard.fingerprint in before.left else shard.blocks, children)
        for child in children:
            mine, own_blocks = rows.get(child, []), blocks.get(child, {})
            if mine or own_blocks:
                due = _due(shard, own_blocks, mine)
                yield StoredShard(now.first + child, fingerprint, shard.version, shard.clock, own_blocks, mine, due)


def moved_shard(before: KeyRange, now: KeyRange, shard: StoredShard) -> StoredShard | None:
    """Return a shard whole, in the new key range of its fragment; None: it holds nothing that is kept."""
    number = now.first + shard.number - before.first
    blocks = {} if shard.fingerprint in before.left else shard.blocks
    if not blocks and not shard.buffered:
        return None
    due = _due(shard, blocks, shard.buffered)
    return StoredShard(number, shard.fingerprint, shard.version, shard.clock, blocks, shard.buffered, due)


def _due(
    shard: StoredShard, blocks: Mapping[bytes, bytes], buffered: Sequence[tuple[bytes, int, int, int]]
) -> int | None:
    """Return the time of the timer of a part of a shard."""
    times = [first + 1 for _, first, _, _ in buffered]
    times += [shard.due] if shard.due is not None and blocks else []
    return min(times, default=None)


def _split_state(
    spark: SparkSession, key_range: KeyRange, blocks: Mapping[bytes, bytes], children: Sequence[int]
) -> dict[int, dict[bytes, bytes]]:
    """Return the snapshot blocks of each part."""
    if not blocks:
        return {}
    found: dict[int, dict[bytes, bytes]] = {}
    runtime = SiddhiManager().create_siddhi_app_runtime(key_range.text)
    with runtime:
        for table in SubApp.from_json(key_range.sub_app).fills:  # filled anew at every start
            runtime.sharding.leave_out(f"table '{table}'")
        runtime.restore_blocks(blocks)
        partitions = [name for name, _ in key_indexes(runtime.plan, key_range)]
        texts = sorted({text for name in partitions for text in _keys_of(runtime, name)})
        shards = dict(zip(texts, _shards_of(spark, texts, key_range.shards), strict=True))
        for child in children:
            if child != children[0]:
                runtime.restore_blocks(blocks)
            for name in partitions:
                runtime.sharding.retain_keys(name, lambda key, child=child: shards[_text(key)] == child)  # type: ignore[misc]
            part = runtime.snapshot_blocks()
            found[child] = {name: data for name, data in part.items() if data is not None}
    return found


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
    """Return the shards of keys, computed by Spark."""
    if not texts:
        return []
    frame = spark.createDataFrame(pa.table({"at": range(len(texts)), "key": pa.array(texts, pa.string())}))
    shard = F.pmod(F.xxhash64(F.col("key")), F.lit(shards).cast("bigint")).cast("int")
    return [row["shard"] for row in frame.select("at", shard.alias("shard")).orderBy("at").collect()]


class RowsByShard:
    """Splits buffered rows by their keys.

    Args:
        spark: session that hashes keys.
        plan: plan of the app.
        key_range: the new key range.
        children: numbers of the shards that one shard is split into.
    """

    def __init__(self, spark: SparkSession, plan: Plan, key_range: KeyRange, children: Sequence[int]) -> None:
        self._spark = spark
        self._plan = plan
        self._key_range = key_range
        self._children = children
        self._schema = InputSchema.from_json(key_range.input_schema)

    def split(self, buffered: Sequence[tuple[bytes, int, int, int]]) -> dict[int, list[tuple[bytes, int, int, int]]]:
        """Return the rows of each shard, encoded, with first and last event time and number of rows."""
        if not buffered:
            return {}
        earlier = [InputSchema.from_json(schema) for schema in self._key_range.earlier_schemas]
        batches = [upgrade_rows(decode(data), self._schema, earlier) for data, *_ in buffered]
        rows = next(iter(pa.Table.from_batches(batches).combine_chunks().to_batches()), batches[0])
        found: dict[int, list[tuple[bytes, int, int, int]]] = {}
        shards = self._shards(rows)
        for child in self._children:
            # None: the row went to every shard, so to the one that is split, too.
            mine = rows.filter(pa.array([at is None or child in at for at in shards], pa.bool_()))
            if mine.num_rows:
                bounds = pc.min_max(mine.column(0)).as_py()
                found[child] = [(encode(mine), bounds["min"], bounds["max"], mine.num_rows)]
        return found

    def _shards(self, rows: pa.RecordBatch) -> list[Sequence[int] | None]:
        """Return the shards of each row; None: all."""
        ordering = rows.num_columns - len(self._schema.columns)
        found: list[Sequence[int] | None] = [(self._children[0],)] * rows.num_rows
        inputs = rows.column(ordering).to_pylist() if self._schema.has_input_index else None
        for number, (stream, indexes) in enumerate(self._schema.inputs):
            mine = [n for n in range(rows.num_rows) if inputs is None or inputs[n] == number]
            texts = self._key_range.keys[stream]
            if texts is None:
                for n in mine:
                    found[n] = None
            elif texts and mine:
                part = rows.take(pa.array(mine))
                columns = [part.column(ordering + index) for index in indexes]
                table = pa.table(columns, names=[f"c{n}" for n in range(len(columns))])
                times = part.column(0)  # conditions may read it
                keyed = self._shards_by_key(stream, texts, table.append_column(TIME, times))
                for n, shards in zip(mine, keyed, strict=True):
                    found[n] = shards
        return found

    def _shards_by_key(self, stream: str, texts: Sequence[str], table: pa.Table) -> list[list[int]]:
        """Return the shards of rows of one stream, computed by Spark."""
        columns = [F.col(f"`{name}`") for name in table.column_names[:-1]]
        ranges = range_conditions(self._plan, stream, texts[0])
        if ranges:
            shards = shards_of_labels(ranges, columns, self._key_range.shards)
        else:
            lower = lowering_over(columns)
            typed = [key_expression(self._plan, stream, text) for text in texts]
            keys = [(lower(expression), expression) for expression in typed]
            shards = F.array(shard_of(keys, self._key_range.shards))
        numbered = table.append_column("__n", pa.array(range(table.num_rows)))
        frame = self._spark.createDataFrame(numbered)
        return [row["shards"] for row in frame.select("__n", shards.alias("shards")).orderBy("__n").collect()]
