"""The elements of an app with state, each with its definition: a snapshot fits an element with the same definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from siddhi.planner.distribution.statements import Statements, executions_by_name
from siddhi.query_api.query import Partition, Query
from siddhi.query_api.span import Node
from siddhi.runtime.state.snapshot import Element, Stateful

if TYPE_CHECKING:
    from siddhi._core.query.key_limiter import KeyLimiter
    from siddhi._core.query.partition import PartitionUses
    from siddhi.planner.plan.nodes import Plan
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.assembly.partition import BuiltPartition
    from siddhi.runtime.assembly.query import BuiltQuery

__all__ = ["CORRECTIONS", "query_element", "stateful_elements"]

CORRECTIONS = "corrections"
"""Name of the element that holds log and checkpoints of an app that corrects late events."""


def stateful_elements(assembly: Assembly, statements: Statements | None = None) -> dict[str, Element]:
    """Return the elements of an app with state, by a name that is stable across builds of the app.

    Args:
        assembly: its operators.
        statements: those of its plan, if somebody has them.
    """
    plan = assembly.plan
    definitions: dict[str, Node] = {definition.id: definition for definition in plan.app.definitions}
    executions = dict(executions_by_name(plan))
    if statements is None:
        statements = Statements(plan)
    attributes = statements.attributes
    found: dict[str, Element] = {}

    def add(name: str, definition: Node | str, steps: dict[str, Stateful]) -> None:
        if steps:
            found[name] = Element(
                lambda: definition if isinstance(definition, str) else statements.of(definition), steps
            )

    for name, partition in assembly.partitions.items():
        found[f"partition '{name}'"] = _partition(partition, executions[name], statements)
        limits: dict[str, KeyLimiter | PartitionUses] = {
            f"{number}/keys": query.key_limiter
            for number, query in _stateful(partition)
            if query.key_limiter is not None
        }
        if partition.uses is not None:
            limits["keys"] = partition.uses
        if limits:
            found[f"limits of partition '{name}'"] = _limits(limits)
    for id_, rows in assembly.tables.states().items():
        add(f"table '{id_}'", definitions.get(id_, attributes[id_]), {"rows": rows})
    for id_, stream in assembly.async_streams.items():
        add(f"buffer of stream '{id_}'", attributes[id_], {"buffer": stream.buffer})
    for id_, trigger in assembly.triggers.items():
        add(f"trigger '{id_}'", definitions[id_], {"trigger": trigger})
    for id_, window in assembly.windows.items():
        add(f"window '{id_}'", definitions[id_], dict(window.stateful))
    for id_, aggregation in assembly.aggregations.items():
        steps = dict(aggregation.stateful)
        purge = steps.pop("purge", None)
        add(f"aggregation '{id_}'", definitions[id_], dict(steps))
        if purge is not None:
            # A separate element, since @purge may change: its only state is the time of the next purge.
            add(f"purge of aggregation '{id_}'", "@purge", {"purge": purge})
    if assembly.temporal is not None:
        add("temporal queries", _temporal_text(plan, definitions, statements), assembly.temporal.steps())
    for name, query in assembly.top_level_queries():
        add(f"query '{name}'", executions[name], dict(query.stateful))
        if query.key_limiter is not None:
            found[f"limit of query '{name}'"] = _limits({"keys": query.key_limiter})
    if assembly.corrections is not None:
        # Checkpoints hold the state of the whole app.
        app = "\n".join(statements.of(node) for node in (*plan.app.definitions, *plan.app.executions))
        add(CORRECTIONS, app, {"log": assembly.corrections.core})
    for name, connector in assembly.connectors.states().items():
        add(name, connector.kind, {"state": connector})
    return found


def query_element(query: BuiltQuery, describe: Callable[[], str]) -> Element:
    """Return the element of a query that is added to a running app.

    Args:
        query: the query, which has no limit.
        describe: returns its statement.
    """
    return Element(describe, dict(query.stateful))


def _temporal_text(plan: Plan, definitions: Mapping[str, Node], statements: Statements) -> str:
    """Return the definition of the temporal streams and queries: their lifetimes are one state."""
    streams = [definitions[id_] for id_, stream in plan.streams.items() if stream.temporal and id_ in definitions]
    positions = dict.fromkeys(query.position for query in plan.temporal_queries)
    queries = [plan.app.executions[position] for position in positions]
    return "\n".join(statements.of(node) for node in (*streams, *queries))


def _partition(partition: BuiltPartition, node: Query | Partition, statements: Statements) -> Element:
    if not isinstance(node, Partition):
        raise TypeError("the statement of a partition plan is not a partition")
    stateful = [bool(query.stateful) for query in partition.queries]
    steps: dict[str, Stateful] = {"keys": partition.keys}
    # Queries are identified by their number among those with state, in text order: names may be missing or ambiguous.
    for number, query in _stateful(partition):
        steps |= {f"{number}/{step}": stateful_step for step, stateful_step in query.stateful.items()}
    return Element(lambda: statements.of_partition(node, partition.plan, stateful), steps)


def _stateful(partition: BuiltPartition) -> Iterator[tuple[int, BuiltQuery]]:
    return enumerate((query for query in partition.queries if query.stateful), 1)


def _limits(uses: Mapping[str, KeyLimiter | PartitionUses]) -> Element:
    """Make the element of the order in which keys were used; separate from the keys, since limits may change."""

    def reset() -> None:
        for keys in uses.values():
            keys.renew()

    return Element(lambda: "@limit", dict(uses), reset)
