"""Inspect a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import DefinitionNotExistError, SparkRunError, did_you_mean
from siddhi.planner.distribution.distribution import distributions
from siddhi.planner.plan.nodes import PartitionPlan, Plan, QueryPlan
from siddhi.spark.checkpoint.key_ranges import KeyRange
from siddhi.spark.checkpoint.manifest import read_manifest
from siddhi.spark.checkpoint.stored import StoredShard, key_texts, number_of_key, stored_shards

__all__ = ["CheckpointState", "ShardSummary", "retain_key"]


@dataclass(frozen=True, slots=True)
class ShardSummary:
    """A summary of a shard.

    Attributes:
        elements: elements that run in it.
        shard: its number within its fragment.
        clock: watermark of its last write, in ms.
        size: size of its state, in bytes.
        waiting: number of buffered rows.
        next_due: time of its timer (ms), or None.
    """

    elements: tuple[str, ...]
    shard: int
    clock: int
    size: int
    waiting: int
    next_due: int | None


class CheckpointState:
    """The state of a checkpoint after a batch; its query may run meanwhile.

    Args:
        spark: the session.
        checkpoint: its folder.
        batch: number of the batch; None: the last committed one.

    Raises:
        SparkRunError: it is not a checkpoint of siddhi.
    """

    def __init__(self, spark: SparkSession, checkpoint: str, batch: int | None = None) -> None:
        self._spark = spark
        self._checkpoint = checkpoint
        self._batch = batch
        manifest = read_manifest(spark, checkpoint)
        if manifest is None:
            raise SparkRunError(f"there is no checkpoint {checkpoint}: give the folder of a stream that was started")
        self._keys = manifest.state_keys
        self._key_ranges = [key_range for key_range in manifest.key_ranges if not key_range.retired]

    def shards(self) -> list[ShardSummary]:
        """Return the shards that hold something.

        Raises:
            SparkRunError: no batch was committed.
        """
        found = []
        for stored in stored_shards(self._spark, self._checkpoint, self._keys, batch=self._batch):
            key_range = next((s for s in self._key_ranges if 0 <= stored.number - s.first < s.shards), None)
            if key_range is not None:
                size = sum(map(len, stored.blocks.values())) + sum(len(data) for data, *_ in stored.buffered)
                waiting = sum(n for *_, n in stored.buffered)
                shard_index = stored.number - key_range.first
                found.append(ShardSummary(tuple(key_range.names), shard_index, stored.clock, size, waiting, stored.due))
        return found

    def inner(self, element: str, *, key: object = None) -> dict[str, list[object]]:
        """Return the state of an element by step (window, selector, pattern ...), as in a snapshot.

        Of a partition, or a query in one, it is the state of the key; of any other element, that of the key's shard.

        Args:
            element: name of a query, also one inside a partition, or of a partition, table, window or aggregation.
            key: a string, an integer, a bool, or a tuple of these for a key of several parts; None if the element runs on one
                shard.

        Returns:
            The state by step; empty if there is none. Events are :class:`siddhi.Event`, states of aggregators tuples.

        Raises:
            DefinitionNotExistError: no element of this name holds state.
            ValueError: a key is missing, or has another number of parts.
            KeyError: a partition, or a query in one, has no state for this key; its rows may be buffered.
            SparkRunError: no batch was committed, or the state can't be read.
        """
        known: list[str] = []
        for key_range in self._key_ranges:
            runtime = SiddhiManager().create_siddhi_app_runtime(key_range.text)
            name = _named(runtime.plan, element)
            if name is not None:
                with runtime:
                    return self._inner(runtime, key_range, *name, key)
            known += (query.name for execution in runtime.plan.executions for query in _queries(execution))
            known += key_range.stateful
        raise DefinitionNotExistError(
            f"checkpoint {self._checkpoint} has no state of '{element}'{did_you_mean(element, known)}"
        )

    def _inner(
        self, runtime: SiddhiAppRuntime, key_range: KeyRange, name: str, prefix: str, key: object
    ) -> dict[str, list[object]]:
        number = key_range.first
        parts = max((len(texts) for texts in key_range.keys.values() if texts), default=0)
        texts = [] if key is None else key_texts(key)
        if parts != len(texts):
            wanted = next((", ".join(texts) for texts in key_range.keys.values() if texts), None)
            distributed = f"is distributed by {wanted}" if wanted is not None else "runs on one shard"
            raise ValueError(f"{name} {distributed}: give {'key=...' if wanted is not None else 'no key'}")
        if texts:
            number += number_of_key(self._spark, texts, key_range.shards)
        for stored in stored_shards(self._spark, self._checkpoint, self._keys, batch=self._batch, numbers=[number]):
            if not stored.blocks or stored.fingerprint in key_range.left:
                continue  # only buffered rows
            with readable(stored, key_range):
                runtime.restore_blocks(stored.blocks)
            if texts and retain_key(runtime, key_range, texts).get(name) == 0:
                break
            shown = runtime.sharding.shown(name)
            return {step.removeprefix(prefix): value for step, value in shown.items() if step.startswith(prefix)}
        if any(name == _partition(keyed) for keyed, _ in key_indexes(runtime.plan, key_range)):
            raise KeyError(
                f"{name} has no state for key {key!r}: none of its rows has passed the watermark, or it was purged"
            )
        return {}


@contextmanager
def readable(stored: StoredShard, key_range: KeyRange) -> Iterator[None]:
    """Name the shard in an error."""
    try:
        yield
    except Exception as error:
        number = stored.number - key_range.first
        raise SparkRunError(f"shard {number} of {', '.join(key_range.names)} can't be read: {error}") from error


def _named(plan: Plan, element: str) -> tuple[str, str] | None:
    """Return the name of an element in snapshots and the prefix of its steps; None: there is no such element."""
    for execution in plan.executions:
        if isinstance(execution, PartitionPlan):
            if execution.name == element:
                return _partition(element), ""
            for number, query in enumerate(execution.queries, 1):
                if query.name == element:
                    return _partition(execution.name), f"{number}/"
        elif execution.name == element:
            return f"query '{element}'", ""
    for kind, elements in (("table", plan.tables), ("window", plan.windows), ("aggregation", plan.aggregations)):
        if element in elements:
            return f"{kind} '{element}'", ""
    return None


def _partition(name: str) -> str:
    """Return the name of a partition in snapshots."""
    return f"partition '{name}'"


def _queries(execution: QueryPlan | PartitionPlan) -> Sequence[QueryPlan]:
    return execution.queries if isinstance(execution, PartitionPlan) else (execution,)


def retain_key(runtime: SiddhiAppRuntime, key_range: KeyRange, texts: list[str | None]) -> dict[str, int]:
    """Remove all keys but one from the partitions of an engine; return how many are left by partition."""
    left = {}
    for name, at in key_indexes(runtime.plan, key_range):
        left[_partition(name)] = runtime.sharding.retain_keys(
            name,
            lambda key, at=at: key_texts(key) == [texts[at]],  # type: ignore[misc]
        )
    return left


def key_indexes(plan: Plan, key_range: KeyRange) -> list[tuple[str, int]]:
    """Return the partitions of a fragment, each with the index of its part in the fragment's key."""
    found = []
    names = {execution.name for execution in plan.executions if isinstance(execution, PartitionPlan)}
    for element in distributions(plan):
        if element.name not in names:
            continue
        for part in element.keys or ():
            for stream, expression in part.by:
                texts = key_range.keys.get(stream) or []
                if expression.text in texts and (element.name, texts.index(expression.text)) not in found:
                    found.append((element.name, texts.index(expression.text)))
    return found
