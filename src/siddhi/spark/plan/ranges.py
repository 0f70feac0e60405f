"""Find partitions that run on one shard although they have a key: Spark can't compute it, or order would be lost."""

from __future__ import annotations

from collections.abc import Iterator

from siddhi.planner.distribution.distribution import Element
from siddhi.planner.plan.nodes import PartitionPlan, Plan, RangeKeyPlan
from siddhi.spark.plan.catalyst_expressions import why_not_catalyst
from siddhi.spark.plan.edges import AppGraph

__all__ = ["by_ranges", "unspread_partitions"]


def by_ranges(element: Element) -> bool:
    """Return whether an element is partitioned by ranges only."""
    return bool(element.keys) and all(any(key.labels for _, key in part.by) for part in element.keys or ())


def unspread_partitions(plan: Plan, graph: AppGraph) -> Iterator[tuple[str, str]]:
    """Yield the partitions that are not distributed by their keys, and why; clauses."""
    elements = {element.name: element for element in graph.elements}
    for partition in plan.executions:
        if not isinstance(partition, PartitionPlan):
            continue
        element = elements[partition.name]
        foreign = _foreign(partition)
        reader = graph.order_sensitive_reader(element) if by_ranges(element) else None
        if foreign:
            yield partition.name, foreign
        elif reader is not None:
            yield (
                partition.name,
                f"{reader.name} depends on the order of its rows, and one event may have rows of several ranges",
            )


def _foreign(partition: PartitionPlan) -> str:
    """Return why Spark can't compute the keys of a partition, or ""."""
    for key in partition.keys:
        if isinstance(key, RangeKeyPlan):
            conditions = [(f"the range '{label}'", condition) for label, condition in key.ranges]
        else:
            conditions = [(f"the key of {key.stream}", key.expression)]
        for what, condition in conditions:
            why = why_not_catalyst(condition)
            if why is not None:
                return f"{what} has {why}, which Spark can't compute"
    return ""
