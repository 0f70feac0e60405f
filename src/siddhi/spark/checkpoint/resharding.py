"""Migrate a checkpoint to more shards, or to another number of tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pyspark.sql import SparkSession

from siddhi.errors import SparkRunError
from siddhi.planner.plan.nodes import Plan
from siddhi.spark import files
from siddhi.spark.checkpoint.evolution import assign_key_ranges
from siddhi.spark.checkpoint.key_ranges import KeyRange, key_range_of
from siddhi.spark.checkpoint.manifest import Manifest, new_id, read_manifest, require_open, require_own, write_manifest
from siddhi.spark.checkpoint.migration import moved_shard, split_shards, unsplittable
from siddhi.spark.checkpoint.new_checkpoint import adopt_log, encode_moved, write_moved_state, write_state
from siddhi.spark.checkpoint.stored import StoredShard, committed, state_entries, stored_shards
from siddhi.spark.plan.fragments import cut
from siddhi.spark.plan.state_keys import EVEN, StateKeys, default_tasks
from siddhi.spark.workers.program import write_program

__all__ = ["migrate"]


def migrate(
    spark: SparkSession, plan: Plan, old: str, new: str, *, shards: int, partitions: int | None, prefer: str
) -> None:
    """Migrate a checkpoint, see :meth:`siddhi.spark.SparkRuntime.migrate`."""
    before = read_manifest(spark, old)
    if before is None:
        raise SparkRunError(f"there is no checkpoint {old}: give the folder of a stream that was started")
    if files.names(spark, new):
        raise SparkRunError(f"folder {new} is not empty: migrate to a new folder")
    if shards % before.shards:
        few = ", ".join(str(before.shards * n) for n in (2, 3, 4))
        raise ValueError(
            f"{before.shards} shards can't be migrated to {shards}: the number must be a multiple ({few} ...), as each shard is split"
        )
    require_own(before, plan.name if plan.app.name is not None else "", old)
    require_open(spark, old)
    done, planned = committed(spark, old)
    if done is None or done != planned:
        raise SparkRunError(
            f"checkpoint {old} has an unfinished batch ({planned}): start the stream once with trigger={{'availableNow': True}} and "
            "migrate then"
        )
    active = [key_range for key_range in before.key_ranges if not key_range.retired]
    _require_fit(plan, before, active, prefer)
    refused = [clause for each in active for clause in unsplittable(plan, each)] if shards > before.shards else []
    if refused:
        raise SparkRunError(
            f"the state of checkpoint {old} can't be split: {'; '.join(refused)}. Start a new checkpoint from the beginning of the "
            "input"
        )
    key_ranges = [replace(key_range, first=n * shards, shards=shards) for n, key_range in enumerate(active)]

    def split() -> Iterator[StoredShard]:
        for was, key_range in zip(active, key_ranges, strict=True):
            stored = stored_shards(spark, old, before.state_keys, batch=done, numbers=was.numbers)
            yield from split_shards(spark, plan, was, key_range, stored)

    def moved(shard: StoredShard) -> StoredShard | None:
        for was, key_range in zip(active, key_ranges, strict=True):
            if shard.number in was.numbers:
                return moved_shard(was, key_range, shard)
        return None  # of a retired range

    if partitions is None:
        partitions = default_tasks(shards, spark.sparkContext.defaultParallelism)
    keys = StateKeys(EVEN, shards)
    if shards == before.shards:
        entries = state_entries(spark, old, batch=done)
        write_moved_state(spark, new, entries, partitions, encode_moved(before.state_keys, keys, moved))
    else:
        write_state(spark, new, split(), partitions, keys)
    adopt_log(spark, old, done, new)
    made = replace(before, key_ranges=key_ranges, shards=shards, partitions=partitions, keys=keys.kind)
    made = replace(made, first_batch=before.first_batch + done, path=files.qualified(spark, new))
    made = replace(made, id=new_id(), parents=[*before.parents, before.id])
    write_manifest(spark, new, made)  # last: a folder without a manifest is not a checkpoint


def _require_fit(plan: Plan, before: Manifest, active: list[KeyRange], prefer: str) -> None:
    """Check that a checkpoint was written for the app as it is."""
    layout = cut(plan, streaming=True, prefer=prefer, bound=frozenset(before.bindings))
    fragments = [fragment for fragment in layout.fragments if not fragment.stateless]
    programs = [write_program(plan, fragment, [], shards=before.shards) for fragment in fragments]
    now = [key_range_of(plan, *both, 0, before.shards) for both in zip(fragments, programs, strict=True)]
    found = assign_key_ranges([key_range for key_range in active if key_range.stateful], now)
    differences = [*found.refused, *found.changed]
    if differences:
        raise SparkRunError(
            f"the checkpoint was written for another form of the app: {'; '.join(differences)}. Migrate with the app as it was, "
            "then start the new one with evolve=True"
        )
