"""The plan of an app as text or graph, with the figures of a profile."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from siddhi.planner.explain.app import explain
from siddhi.planner.explain.graph import PlanGraph, graph_of
from siddhi.runtime.profile.figures import OUTSIDE
from siddhi.runtime.profile.numbers import count_text, share_text, time_text

if TYPE_CHECKING:
    from siddhi.planner.plan.nodes import Plan
    from siddhi.runtime.app import SiddhiAppRuntime
    from siddhi.runtime.profile.figures import Figure
    from siddhi.runtime.profile.profile import Profile

__all__ = ["ExplainFormat", "Explained", "app_html", "explained"]

ExplainFormat = Literal["text", "json", "mermaid", "svg"]
_NODES = ("query", "temporal query", "partition", "stream", "trigger", "window", "aggregation")
_FORMATS = ("text", "json", "mermaid", "svg")


class Explained(str):
    """The plan of an app, a str. In a notebook, SVG shows as a picture and everything else as text.

    Attributes:
        form: "text", "json", "mermaid" or "svg".
    """

    __slots__ = ("form",)
    form: ExplainFormat

    def __new__(cls, text: str, format_: ExplainFormat) -> Explained:
        """Make a str of a format."""
        made = super().__new__(cls, text)
        made.form = format_
        return made

    def save(self, path: str | Path) -> None:
        """Write it to a file."""
        Path(path).write_text(self, encoding="utf-8")

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return str(self) if self.form == "svg" else f"<pre>{escape(self)}</pre>"


def explained(plan: Plan, format_: ExplainFormat, profile: Profile | None) -> Explained:
    """Return the plan of an app in a format.

    Args:
        plan: of the app.
        format_: "text", "json", "mermaid" or "svg".
        profile: its figures are added; None: the plan alone.

    Raises:
        ValueError: there is no such format.
    """
    if format_ not in _FORMATS:
        raise ValueError(f"invalid format {format_!r}: expected one of {', '.join(_FORMATS)}")
    by_owner = _by_owner(() if profile is None else profile.figures)
    if format_ == "text":
        return Explained(_text(explain(plan), by_owner), format_)
    graph = _graph(plan, by_owner)
    if format_ == "mermaid":
        return Explained(graph.to_mermaid(), format_)
    if format_ == "svg":
        return Explained(graph.to_svg(), format_)
    content = graph.to_dict()
    content["plan"] = explain(plan).splitlines()
    if profile is not None:
        content["profile"] = {"seconds": profile.seconds, "rows": profile.rows, "figures": profile.to_dicts()}
    return Explained(json.dumps(content, indent=2, ensure_ascii=False), format_)


def app_html(app: SiddhiAppRuntime, condition: str) -> str:
    """Return an app as HTML: its graph, with events per second if statistics are measured, else with the last profile."""
    streams = app.statistics.streams
    if streams:
        rates = {
            (kind, name): f"{count_text(stream.events)} events, {stream.throughput:,.0f}/s"
            for name, stream in streams.items()
            for kind in ("stream", "trigger", "window")
        }
        picture = graph_of(app.plan, rates).to_svg()
    else:
        picture = app.explain("svg", analyze=app.last_profile or False)
    name = "" if app.plan.app.name is None else f" <b>{escape(app.plan.app.name)}</b>"
    return f"<div><p>app{name}: {condition}</p>{picture}</div>"


def _by_owner(figures: tuple[Figure, ...]) -> dict[str, list[Figure]]:
    found: dict[str, list[Figure]] = {}
    for figure in figures:
        if figure.kind not in ("callback", OUTSIDE):
            found.setdefault(figure.owner, []).append(figure)
    return found


def _text(text: str, by_owner: dict[str, list[Figure]]) -> str:
    """Return a plan with figures at the end of the first line of each element, and its clauses below it."""
    if not by_owner:
        return text
    lines = []
    partition = ""
    for line in text.splitlines():
        words = line.split()
        kind = words[0] if words else ""
        if line and not line.startswith(" "):
            partition = words[1] if kind == "partition" else ""
        inner = line.startswith("  query ") and partition
        names = {"query", "partition", "stream", "window", "aggregation"}
        if (line.startswith(" ") and not inner) or kind not in names or len(words) < 2:
            lines.append(line)
            continue
        figures = by_owner.get(f"{partition}/{words[1]}" if inner else words[1], [])
        if not figures:
            lines.append(line)
            continue
        lines.append(f"{line}  ({_summary(figures)})")
        if kind == "query":
            indent = " " * (len(line) - len(line.lstrip()) + 4)
            lines += [f"{indent}| {figure.kind}: {_summary([figure])}" for figure in figures]
    return "\n".join(lines)


def _summary(figures: list[Figure]) -> str:
    seconds = sum(figure.seconds for figure in figures)
    flow = count_text(figures[0].events_in)
    if figures[-1].events_out is not None:
        flow += f" → {count_text(figures[-1].events_out)}"
    return f"{share_text(sum(figure.share for figure in figures))}, {time_text(seconds)}, {flow} events"


def _graph(plan: Plan, by_owner: dict[str, list[Figure]]) -> PlanGraph:
    notes: dict[tuple[str, str], str] = {}
    shares: dict[tuple[str, str], float] = {}
    for owner, figures in by_owner.items():
        name, _, inner = owner.partition("/")
        share = sum(figure.share for figure in figures)
        for kind in ("partition",) if inner else _NODES:
            key = (kind, name)
            shares[key] = shares.get(key, 0.0) + share
            if not inner:
                notes[key] = f"{count_text(figures[0].events_in)} events, {share_text(shares[key])}"
            elif key in notes:
                notes[key] = f"{notes[key].split(',')[0]}, {share_text(shares[key])}"
    return graph_of(plan, notes, shares)
