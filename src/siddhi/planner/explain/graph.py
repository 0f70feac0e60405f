"""An app as a graph: streams, tables and queries, as data, as text, as Mermaid and as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from siddhi._frozen import field, frozen
from siddhi.planner.plan.elements import ElementKind, app_elements
from siddhi.planner.plan.nodes import Plan

__all__ = ["Edge", "GraphNode", "PlanGraph", "graph_of"]


@frozen
class GraphNode:
    """A stream, table, window, aggregation, trigger, query or partition.

    Attributes:
        id: unique: kind and name.
        kind: ``stream``, ``table``, ``window``, ``aggregation``, ``trigger``, ``query``, ``partition`` or ``temporal query``.
        name: of the element.
        note: shown below the name, such as rates; empty: nothing.
        share: of the time of a profile, which shades it; 0: none.
    """

    id: str
    kind: str
    name: str
    note: str = ""
    share: float = 0.0


@frozen
class Edge:
    """Events flow from a node to another, or its content is read (``kind`` "reads")."""

    source: str
    target: str
    kind: str = "flows"


@frozen
class PlanGraph:
    """The graph of an app; ``name`` is that of its text, if it has one."""

    name: str | None
    nodes: tuple[GraphNode, ...] = field(default=())
    edges: tuple[Edge, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """Return the graph as plain data."""
        return {
            "app": self.name,
            "nodes": [
                {"id": node.id, "kind": node.kind, "name": node.name}
                | ({"note": node.note} if node.note else {})
                | ({"share": node.share} if node.share else {})
                for node in self.nodes
            ],
            "edges": [{"source": edge.source, "target": edge.target, "kind": edge.kind} for edge in self.edges],
        }

    def to_text(self) -> str:
        """Return one line per element, from the inputs on, with what reads it or gets its events below."""
        lines = ["app" if self.name is None else f"app '{self.name}'"]
        by_id = {node.id: node for node in self.nodes}
        for node in (node for column in self._columns() for node in column):
            lines.append(f"{node.kind} {node.name}" + (f"  ({node.note})" if node.note else ""))
            for edge in self.edges:
                if edge.source == node.id:
                    target = by_id[edge.target]
                    arrow = "is read by" if edge.kind == "reads" else "->"
                    lines.append(f"  {arrow} {target.kind} {target.name}")
        return "\n".join(lines) + "\n"

    def to_mermaid(self) -> str:
        """Return the graph as a flowchart of Mermaid."""
        numbers = {node.id: f"n{number}" for number, node in enumerate(self.nodes)}
        lines = ["flowchart LR"]
        for node in self.nodes:
            label = node.name.replace('"', "#quot;") + (f"<br/>{node.note}" if node.note else "")
            left, right = _MERMAID.get(node.kind, ('["', '"]'))
            lines.append(f"  {numbers[node.id]}{left}{label}{right}")
        for edge in self.edges:
            arrow = "-.->" if edge.kind == "reads" else "-->"
            lines.append(f"  {numbers[edge.source]} {arrow} {numbers[edge.target]}")
        lines += [
            f"  style {numbers[node.id]} fill:{_shade(node.share)}"
            for node in self.nodes
            if node.share >= _LEAST_SHADED
        ]
        return "\n".join(lines) + "\n"

    def to_svg(self) -> str:
        """Return the graph as SVG, from left to right."""
        columns = self._columns()
        places: dict[str, tuple[int, int]] = {}
        widths: list[int] = []
        left = _MARGIN
        tallest = max((len(column) for column in columns), default=0)
        height = 2 * _MARGIN + tallest * _ROW
        for column in columns:
            width = max(_width(node) for node in column)
            top = (height - len(column) * _ROW) // 2
            for row, node in enumerate(column):
                places[node.id] = (left + (width - _width(node)) // 2, top + row * _ROW)
            widths.append(width)
            left += width + _GAP
        total = max(left - _GAP, _MARGIN) + _MARGIN
        by_id = {node.id: node for node in self.nodes}
        body = []
        for edge in self.edges:
            x1, y1 = places[edge.source]
            x2, y2 = places[edge.target]
            x1 += _width(by_id[edge.source])
            y1, y2 = y1 + _BOX // 2, y2 + _BOX // 2
            bend = max(30, abs(x2 - x1) // 2)
            dash = ' stroke-dasharray="4 3"' if edge.kind == "reads" else ""
            body.append(
                f'<path d="M{x1} {y1} C{x1 + bend} {y1} {x2 - bend} {y2} {x2} {y2}" fill="none" stroke="#888888"{dash} '
                'marker-end="url(#arrow)"/>'
            )
        for node in self.nodes:
            x, y = places[node.id]
            width = _width(node)
            radius = 4 if node.kind in ("query", "temporal query", "partition") else _BOX // 2
            fill = _shade(node.share) if node.share >= _LEAST_SHADED else _FILL.get(node.kind, "#eef3fb")
            body.append(
                f'<rect x="{x}" y="{y}" width="{width}" height="{_BOX}" rx="{radius}" fill="{fill}" stroke="#555555">'
                f"<title>{escape(node.kind)} {escape(node.name)}</title></rect>"
            )
            middle = x + width // 2
            body.append(
                f'<text x="{middle}" y="{y + (17 if node.note else 24)}" text-anchor="middle">{escape(node.name)}</text>'
            )
            if node.note:
                body.append(
                    f'<text x="{middle}" y="{y + 32}" text-anchor="middle" font-size="10" fill="#444444">'
                    f"{escape(node.note)}</text>"
                )
        arrow = (
            '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0 L8 4 L0 8 z" fill="#888888"/></marker></defs>'
        )
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{height}" viewBox="0 0 {total} {height}" '
        )
        return "\n".join([f'{head}font-family="sans-serif" font-size="12">', arrow, *body, "</svg>"]) + "\n"

    def _columns(self) -> list[list[GraphNode]]:
        """Return the nodes by distance from the inputs; a cycle is cut where it comes back."""
        into: dict[str, list[str]] = {node.id: [] for node in self.nodes}
        for edge in self.edges:
            into[edge.target].append(edge.source)
        depth: dict[str, int] = {}
        for node in self.nodes:
            # Depth first without recursion: apps may be long chains.
            path = [(node.id, iter(into[node.id]))] if node.id not in depth else []
            open_ = {node.id}
            found: dict[str, int] = {node.id: 0}
            while path:
                name, sources = path[-1]
                source = next(sources, None)
                if source is None:
                    path.pop()
                    open_.discard(name)
                    depth[name] = found[name]
                    if path:
                        found[path[-1][0]] = max(found[path[-1][0]], depth[name] + 1)
                elif source in depth:
                    found[name] = max(found[name], depth[source] + 1)
                elif source not in open_:
                    open_.add(source)
                    found[source] = 0
                    path.append((source, iter(into[source])))
        columns: list[list[GraphNode]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
        for node in self.nodes:
            columns[depth[node.id]].append(node)
        return [column for column in columns if column]


_MERMAID = {
    "stream": ('(["', '"])'),
    "trigger": ('(["', '"])'),
    "table": ('[("', '")]'),
    "aggregation": ('[("', '")]'),
    "window": ('[/"', '"/]'),
    "partition": ('[["', '"]]'),
}
_FILL = {
    "query": "#ffffff",
    "temporal query": "#ffffff",
    "partition": "#ffffff",
    "table": "#f3f0e4",
    "aggregation": "#f3f0e4",
}
_MARGIN, _GAP, _BOX, _ROW = 12, 48, 40, 56
_LEAST_SHADED = 0.005


def _shade(share: float) -> str:
    """Return white for nothing to orange for all of the time."""
    part = min(1.0, max(0.0, share)) ** 0.5
    return f"#ff{round(255 - 125 * part):02x}{round(255 - 210 * part):02x}"


def _width(node: GraphNode) -> int:
    return max(60, 24 + 7 * max(len(node.name), round(0.85 * len(node.note))))


def graph_of(
    plan: Plan,
    notes: Mapping[tuple[str, str], str] | None = None,
    shares: Mapping[tuple[str, str], float] | None = None,
) -> PlanGraph:
    """Return the graph of an app.

    Args:
        plan: of the app.
        notes: by kind and name of a node, what is shown below its name.
        shares: by kind and name of a node, its share of the time.
    """
    nodes: dict[str, GraphNode] = {}
    edges: dict[Edge, None] = {}

    def node(kind: str, name: str) -> str:
        id_ = f"{kind} {name}"
        if id_ not in nodes:
            nodes[id_] = GraphNode(
                id_, kind, name, (notes or {}).get((kind, name), ""), (shares or {}).get((kind, name), 0.0)
            )
        return id_

    def holder(name: str) -> str:
        kind = (
            "table"
            if name in plan.tables
            else "window"
            if name in plan.windows
            else "aggregation"
            if name in plan.aggregations
            else "trigger"
            if name in plan.triggers
            else "stream"
        )
        return node(kind, name)

    for stream in plan.streams.values():
        holder(stream.id)
    for name in (*plan.tables, *plan.windows, *plan.aggregations):
        holder(name)
    for element in app_elements(plan):
        if element.kind in (ElementKind.TRIGGER, ElementKind.WINDOW):
            continue
        me = holder(element.name) if element.kind is ElementKind.AGGREGATION else node(element.kind.value, element.name)
        for name in element.reads:
            edges[Edge(holder(name), me)] = None
        for name in sorted(element.uses):
            if holder(name) != me:
                edges[Edge(holder(name), me, "reads")] = None
        for name in (*element.writes, *sorted(element.changes)):
            if holder(name) != me:
                edges[Edge(me, holder(name))] = None
    for query in plan.temporal_queries:
        me = node("temporal query", query.name)
        for input_ in query.inputs:
            edges[Edge(holder(input_.source), me)] = None
        edges[Edge(me, holder(query.target))] = None
    return PlanGraph(plan.app.name, tuple(nodes.values()), tuple(edges))
