"""The resources of ``env:resourceBatch``: the queries that ``env:resourceIdentifier`` registers under the name of a group."""

from __future__ import annotations

from collections import Counter

from siddhi.extension.metadata import WindowMetadata
from siddhi.planner.bind.sandbox_limits import nodes_of
from siddhi.planner.plan.expressions import Const, TypedExpression
from siddhi.planner.problems import creation_error
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.expression import Constant
from siddhi.query_api.input import StreamFunction
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

__all__ = ["resources_of", "with_resources"]

_WAIT_MS = 300_000


def resources_of(app: SiddhiApp) -> Counter[str]:
    """Return how often the app registers a resource, by group."""
    found: Counter[str] = Counter()
    for node in nodes_of(app):
        if not isinstance(node, StreamFunction) or (node.call.namespace, node.call.name) != (
            "env",
            "resourceIdentifier",
        ):
            continue
        for argument in node.call.arguments[:1]:
            if isinstance(argument, Constant) and isinstance(argument.value, str):
                found[argument.value] += 1
    return found


def with_resources(
    window: WindowMetadata, arguments: tuple[TypedExpression, ...], resources: Counter[str], at: Node
) -> tuple[TypedExpression, ...]:
    """Return the arguments of a window; those of ``env:resourceBatch`` with its time and the number of resources.

    Raises:
        SiddhiAppCreationError: the group has no resource.
    """
    if not getattr(window.implementation, "counts_resources", False):
        return arguments
    group = arguments[0]
    assert isinstance(group, Const)
    count = resources[str(group.value)]
    if not count:
        raise creation_error(
            "E305",
            f"no query of this app registers a resource of the group '{group.value}', for which env:resourceBatch() would wait",
            at,
            f"add #env:resourceIdentifier('{group.value}') to the queries that insert into the stream",
        )
    waits = arguments[2:] or (Const(AttributeType.INT, _WAIT_MS),)
    return (*arguments[:2], *waits, Const(AttributeType.INT, count))
