"""What of an app holds state, and what the app says about each such element: its state fits what says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.planner.statements import attribute_lines, executions_by_name, statement
from siddhi.query_api.annotation import find_annotation
from siddhi.query_api.query import Partition, Query
from siddhi.query_api.span import Node
from siddhi.runtime.state import Element, Stateful

if TYPE_CHECKING:
    from siddhi.planner.nodes import PartitionPlan
    from siddhi.runtime.assembly.app import Assembly

__all__ = ["stateful_elements"]


def stateful_elements(assembly: Assembly) -> dict[str, Element]:
    """The elements of an app that hold state, by a name that is the same whenever the app is built."""
    plan = assembly.plan
    definitions: dict[str, Node] = {definition.id: definition for definition in plan.app.definitions}
    executions = dict(executions_by_name(plan))
    attributes = attribute_lines(plan)
    found: dict[str, Element] = {}

    def add(name: str, said: Node | str | None, steps: dict[str, Stateful]) -> None:
        if name in found:
            found[name].steps.update(steps)
        elif steps:
            found[name] = Element(lambda: said if isinstance(said, str) else statement(said, attributes), steps)

    inside: dict[str, str] = {}
    for name, partition in assembly.partitions.items():
        add(f"partition '{name}'", executions[name], {"keys": partition.keys})
        inside |= _names_inside(name, partition.plan, executions[name])
    for id_, rows in assembly.tables.states().items():
        add(f"table '{id_}'", definitions.get(id_, attributes[id_]), {"rows": rows})
    for id_, stream in assembly.async_streams.items():
        add(f"buffer of stream '{id_}'", attributes[id_], {"buffer": stream.buffer})
    for id_, trigger in assembly.triggers.items():
        add(f"trigger '{id_}'", definitions[id_], {"trigger": trigger})
    for id_, window in assembly.windows.items():
        add(f"window '{id_}'", definitions[id_], dict(window.stateful))
    for id_, aggregation in assembly.aggregations.items():
        add(f"aggregation '{id_}'", definitions[id_], dict(aggregation.stateful))
    for path, query in assembly.built_queries().items():
        name, _, inner = path.partition("/")
        if inner and name in assembly.partitions:
            add(f"partition '{name}'", None, {f"{inside[path]}/{step}": it for step, it in query.stateful.items()})
        else:
            add(f"query '{path}'", executions[path], dict(query.stateful))
    for name, connector in assembly.connectors.states().items():
        add(name, connector.kind, {"state": connector})
    return found


def _names_inside(name: str, plan: PartitionPlan, text: Query | Partition) -> dict[str, str]:
    """What the queries of a partition are called in its state, by path: by their names, and by their number in the partition
    without one, so that what comes before it in the text does not change it."""
    assert isinstance(text, Partition)
    given = {info.element("name") for query in text.queries if (info := find_annotation(query.annotations, "info"))}
    return {
        f"{name}/{query.name}": query.name if query.name in given else f"query {number}"
        for number, query in enumerate(plan.queries, 1)
    }
