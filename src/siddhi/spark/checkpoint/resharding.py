"""A checkpoint with more shards, made of another one."""

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
from siddhi.spark.checkpoint.migration import MovedShard, split_shards, unsplittable
from siddhi.spark.checkpoint.new_checkpoint import adopt_log, write_state
from siddhi.spark.checkpoint.stored import committed, stored_shards
from siddhi.spark.plan.fragments import cut
from siddhi.spark.workers.program import write_program

__all__ = ["migrate"]


def migrate(
    spark: SparkSession, plan: Plan, old: str, new: str, *, shards: int, partitions: int | None, prefer: str
) -> None:
    """See :meth:`siddhi.spark.SparkRuntime.migrate`."""
    before = read_manifest(spark, old)
    if before is None:
        raise SparkRunError(f"there is no checkpoint {old}")
    if files.names(spark, new):
        raise SparkRunError(f"{new} is not empty: migrate makes a checkpoint of its own")
    if shards % before.shards:
        few = ", ".join(str(before.shards * n) for n in (2, 3, 4))
        raise ValueError(
            f"{before.shards} shards don't become {shards}: each is split into as many, so their number is a multiple ({few} ...)"
        )
    require_own(before, plan.name if plan.app.name is not None else "", old)
    require_open(spark, old)
    done, planned = committed(spark, old)
    if done is None or done != planned:
        raise SparkRunError(
            f"batch {planned} of {old} was planned and has not been committed: start it once more with "
            "trigger={'availableNow': True}, so that it ends with a whole batch"
        )
    active = [key_range for key_range in before.key_ranges if not key_range.retired]
    _require_fit(plan, before, active, prefer)
    refused = (
        [clause for key_range in active for clause in unsplittable(plan, key_range)] if shards > before.shards else []
    )
    if refused:
        raise SparkRunError(
            f"the state of {old} can't be split: {'; '.join(refused)}. Take a new checkpoint, with the rows from the beginning"
        )
    key_ranges = [replace(key_range, first=n * shards, shards=shards) for n, key_range in enumerate(active)]

    def moved() -> Iterator[MovedShard]:
        for was, key_range in zip(active, key_ranges, strict=True):
            numbers = range(was.first, was.first + was.shards)
            stored = stored_shards(spark, old, batch=done, numbers=numbers)
            yield from split_shards(spark, plan, was, key_range, stored)

    if partitions is None:
        partitions = min(spark.sparkContext.defaultParallelism, shards)
    write_state(spark, new, moved(), partitions)
    adopt_log(spark, old, done, new)
    made = replace(
        before, key_ranges=key_ranges, shards=shards, partitions=partitions, first_batch=before.first_batch + done
    )
    made = replace(made, id=new_id(), parents=[*before.parents, before.id], path=files.qualified(spark, new))
    write_manifest(spark, new, made)  # last: without it, nobody takes the folder for a checkpoint


def _require_fit(plan: Plan, before: Manifest, active: list[KeyRange], prefer: str) -> None:
    """Whether it is the checkpoint of this app, in this form."""
    layout = cut(plan, streaming=True, prefer=prefer, bound=frozenset(before.bindings))
    fragments = [fragment for fragment in layout.fragments if not fragment.stateless]
    programs = [write_program(plan, fragment, [], shards=before.shards) for fragment in fragments]
    asked = [key_range_of(plan, *both, 0, before.shards) for both in zip(fragments, programs, strict=True)]
    fit = assign_key_ranges([key_range for key_range in active if key_range.stateful], asked)
    told = [*fit.refused, *fit.changed]
    if told:
        raise SparkRunError(
            f"the checkpoint was written for another form of the app: {'; '.join(told)}. Migrate with the app as it was, "
            "and start with evolve=True then"
        )
