"""What of an app holds state, and what the app says about each such element: its state fits what says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.planner.statements import attribute_lines, executions_by_name, statement
from siddhi.query_api.span import Node
from siddhi.runtime.state import Element, Stateful

if TYPE_CHECKING:
    from siddhi.runtime.assembly.app import Assembly

__all__ = ["stateful_elements"]


def stateful_elements(assembly: Assembly) -> dict[str, Element]:
    """The elements of an app that hold state, by a name that is the same whenever the app is built."""
    plan = assembly.plan
    definitions: dict[str, Node] = {definition.id: definition for definition in plan.app.definitions}
    executions = dict(executions_by_name(plan))
    attributes = attribute_lines(plan)
    found: dict[str, Element] = {}

    def add(name: str, said: Node | str, steps: dict[str, Stateful]) -> None:
        if steps:
            found[name] = Element(lambda: said if isinstance(said, str) else statement(said, attributes), steps)

    for name, partition in assembly.partitions.items():
        # The queries by their number in it: names may be missing, or be there twice, and the order is that of the text.
        inside = {
            f"{number}/{step}": stateful
            for number, query in enumerate(partition.queries, 1)
            for step, stateful in query.stateful.items()
        }
        add(f"partition '{name}'", executions[name], {"keys": partition.keys, **inside})
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
    for name, query in assembly.top_level_queries():
        add(f"query '{name}'", executions[name], dict(query.stateful))
    for name, connector in assembly.connectors.states().items():
        add(name, connector.kind, {"state": connector})
    return found
