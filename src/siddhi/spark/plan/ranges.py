"""Which partitions are not spread although they separate: Spark can't tell where a row belongs, or order would be lost."""

from __future__ import annotations

from collections.abc import Iterator

from siddhi.planner.distribution.distribution import Element
from siddhi.planner.plan.nodes import PartitionPlan, Plan, RangeKeyPlan
from siddhi.spark.plan.catalyst_expressions import why_not_catalyst
from siddhi.spark.plan.edges import AppGraph

__all__ = ["by_ranges", "unspread_partitions"]


def by_ranges(element: Element) -> bool:
    """Whether ranges are all that an element separates by."""
    return bool(element.keys) and all(any(key.labels for _, key in part.by) for part in element.keys or ())


def unspread_partitions(plan: Plan, graph: AppGraph) -> Iterator[tuple[str, str]]:
    """The partitions that are not spread by their keys, and why; clauses."""
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
                f"{reader.name} must see its rows in order, and those of one event would come from several ranges",
            )


def _foreign(partition: PartitionPlan) -> str:
    """What Spark can't compute of the keys."""
    for key in partition.keys:
        if isinstance(key, RangeKeyPlan):
            conditions = [(f"the range '{label}'", condition) for label, condition in key.ranges]
        else:
            conditions = [(f"the key of {key.stream}", key.expression)]
        for what, condition in conditions:
            why = why_not_catalyst(condition)
            if why is not None:
                return f"{what} has {why}, and Spark must tell where a row belongs"
    return ""
