"""The elements of an app, the units of fragments, with the sources they read and write."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from siddhi._frozen import frozen, replace
from siddhi.planner.plan.aggregations import AggregationPlan
from siddhi.planner.plan.graph import Unit, aggregation_unit, unit_of
from siddhi.planner.plan.nodes import NamedWindowPlan, PartitionPlan, Plan, QueryPlan, TriggerPlan
from siddhi.query_api.annotation import Annotation, Element, find_annotation
from siddhi.query_api.query import Partition, Query

__all__ = ["AppElement", "ElementKind", "app_elements", "named_executions"]

ElementPlan = QueryPlan | PartitionPlan | AggregationPlan | NamedWindowPlan | TriggerPlan


class ElementKind(Enum):
    """The kind of an element."""

    QUERY = "query"
    PARTITION = "partition"
    WINDOW = "window"
    AGGREGATION = "aggregation"
    TRIGGER = "trigger"


@frozen(kw_only=True)
class AppElement:
    """An element of an app. ``name`` is that of the query or partition, or the id of the definition. The inner query of an
    anonymous input is an element of its own, before the one that reads it.

    Attributes:
        reads: streams and named windows whose events it receives.
        writes: streams and named windows it inserts into.
        uses: tables, windows and aggregations whose content it reads.
        changes: tables and windows it writes to.
    """

    name: str
    kind: ElementKind
    plan: ElementPlan
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    uses: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()


def app_elements(plan: Plan) -> tuple[AppElement, ...]:
    """Return all elements of an app: triggers, named windows, aggregations, then queries and partitions, in text order."""
    found = [
        AppElement(name=trigger.id, kind=ElementKind.TRIGGER, plan=trigger, writes=(trigger.id,))
        for trigger in plan.triggers.values()
    ]
    found += [
        AppElement(name=window.id, kind=ElementKind.WINDOW, plan=window, reads=(window.id,), writes=(window.id,))
        for window in plan.windows.values()
    ]
    for aggregation in plan.aggregations.values():
        unit = aggregation_unit(aggregation)
        unit.name = aggregation.id
        found.append(_element(unit, ElementKind.AGGREGATION, aggregation))
    for execution in plan.executions:
        kind = ElementKind.QUERY if isinstance(execution, QueryPlan) else ElementKind.PARTITION
        found.append(_element(unit_of(execution), kind, execution))
    return tuple(found)


def _element(unit: Unit, kind: ElementKind, plan: ElementPlan) -> AppElement:
    return AppElement(
        name=unit.name,
        kind=kind,
        plan=plan,
        reads=tuple(dict.fromkeys(unit.reads)),
        writes=tuple(dict.fromkeys(unit.writes)),
        uses=frozenset(unit.uses),
        changes=frozenset(unit.changes),
    )


def named_executions(plan: Plan) -> Iterator[tuple[tuple[str, ...], Query | Partition]]:
    """Yield each query or partition of the text with its name added, and the names of all elements it creates: its own
    last, after those of inner queries. Unnamed queries of a partition are named by their number in it."""
    planned = iter(plan.executions)
    for execution in plan.classical_nodes():
        names: list[str] = []
        while True:
            made = next(planned)
            names.append(made.name)
            if not made.name.startswith("anonymous-"):
                break
        if isinstance(execution, Partition):
            # Counted within the partition, so that the names do not depend on the text before it.
            queries = tuple(
                replace(query, annotations=_with_name(query.annotations, f"query_{number}"))
                for number, query in enumerate(execution.queries, 1)
            )
            execution = replace(execution, queries=queries)
        yield tuple(names), replace(execution, annotations=_with_name(execution.annotations, made.name))


def _with_name(annotations: tuple[Annotation, ...], name: str) -> tuple[Annotation, ...]:
    info = find_annotation(annotations, "info")
    if info is None:
        return (Annotation("info", (Element("name", name),)), *annotations)
    if info.element("name") is not None:
        return annotations
    named = replace(info, elements=(Element("name", name), *info.elements))
    return tuple(named if annotation is info else annotation for annotation in annotations)
