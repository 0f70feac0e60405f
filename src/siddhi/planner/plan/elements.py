"""The elements of an app: what a part of it may consist of, each with what it reads and writes."""

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
    """What an element is."""

    QUERY = "query"
    PARTITION = "partition"
    WINDOW = "window"
    AGGREGATION = "aggregation"
    TRIGGER = "trigger"


@frozen(kw_only=True)
class AppElement:
    """``name`` is that of the query or partition, or the id of the definition; the inner query of an anonymous input is an
    element before the one that reads it.

    Attributes:
        reads: streams and named windows whose events it takes.
        writes: streams and named windows it inserts into.
        uses: tables, windows and aggregations whose content it looks at.
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
    """All elements of an app: triggers, named windows, aggregations, then queries and partitions, each in text order."""
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
    """Each query or partition of the text with its name written into it, and the names of all elements it makes: its own
    last, those of inner queries before it. Queries of a partition without a name are called by their number in it."""
    planned = iter(plan.executions)
    for execution in plan.app.executions:
        names: list[str] = []
        while True:
            made = next(planned)
            names.append(made.name)
            if not made.name.startswith("anonymous-"):
                break
        if isinstance(execution, Partition):
            # Counted within the partition: what comes before it in the text does not change it.
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
