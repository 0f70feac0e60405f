"""The dispatcher of the printers: one function per node class, registered by the other modules of this package."""

from __future__ import annotations

from functools import singledispatch

from siddhi.query_api import Annotation, Element, Expression, Node
from siddhi.query_compiler.print.annotations import annotation_text, element_text
from siddhi.query_compiler.print.expressions import expression_text

__all__ = ["annotated", "listed", "node_text", "optional", "within_per"]


@singledispatch
def node_text(node: Node) -> str:
    """Return the SiddhiQL text of a node."""
    raise TypeError(f"not a node of a Siddhi app: {node!r}")


node_text.register(Expression, expression_text)
node_text.register(Annotation, annotation_text)
node_text.register(Element, element_text)


def optional(prefix: str, node: Node | None) -> list[str]:
    """Return an optional clause as a list of zero or one texts."""
    return [] if node is None else [f"{prefix} {node_text(node)}"]


def listed(nodes: tuple[Node, ...]) -> str:
    """Return the nodes, separated by commas."""
    return ", ".join(map(node_text, nodes))


def annotated(annotations: tuple[Annotation, ...], text: str) -> str:
    """Return a statement preceded by its annotations."""
    return "\n".join([*map(annotation_text, annotations), text])


def within_per(within: tuple[Expression, ...], per: Expression | None) -> list[str]:
    """Return ``within ... per ...`` as a list of zero or one texts."""
    return [f"within {listed(within)} per {node_text(per)}"] if within and per else []
