"""Explain the inputs of queries: windows, handlers, sources, joins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from siddhi.planner.explain.aggregations import reading_text
from siddhi.planner.explain.filing import filing_text
from siddhi.planner.explain.patterns import pattern_lines
from siddhi.planner.plan.nodes import FilterPlan, FusedWindow, HandlerPlan, JoinPlan, SingleInputPlan, WindowPlan
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.text import executor_text, expression_text
from siddhi.query_api.input import Trigger

__all__ = ["input_lines", "window_text"]

_STEP = "  "


def input_lines(
    node: SingleInputPlan | JoinPlan | PatternPlan, labels: Mapping[int, str], fused: FusedWindow | None = None
) -> Iterator[str]:
    """Yield the lines of an input, last operator first. ``fused``: the form of its window, if it is fused."""
    if isinstance(node, SingleInputPlan):
        yield from _single_lines(node, fused)
    elif isinstance(node, JoinPlan):
        triggers = {Trigger.BOTH: "", Trigger.LEFT: ", left triggers", Trigger.RIGHT: ", right triggers"}
        ends = ", selected per event" if node.ends_matches else ""
        yield f"{node.type.value}{triggers[node.trigger]}{ends}"
        if node.on is not None:
            yield f"{_STEP}on {expression_text(node.on, labels)}  [{executor_text(node.on)}]"
        if node.reading is not None:
            yield _STEP + reading_text(node.reading, labels)
        for side in (node.left, node.right):
            yield from (_STEP + line for line in _single_lines(side, joined=True))
    else:
        yield from pattern_lines(node, labels)


def window_text(window: WindowPlan) -> str:
    """Return the text of a window, such as ``length(5)``."""
    return f"{window.window.full_name}({', '.join(expression_text(argument, {}) for argument in window.arguments)})"


def _single_lines(node: SingleInputPlan, fused: FusedWindow | None = None, *, joined: bool = False) -> Iterator[str]:
    depth = 0
    for handler in reversed(node.after):
        yield _STEP * depth + _handler_text(handler)
        depth += 1
    names = ", ".join(node.attributes[position].name for position in node.window_layout) or "nothing"
    if node.window is not None:
        text = window_text(node.window)
        line = f"window {text} keeps {names}" if fused is None else f"fused window aggregate {text} over {names}"
        if node.passes_expired and fused is None:
            line += f", {'joins' if joined else 'passes'} expired events"
        yield _STEP * depth + line
        depth += 1
    for handler in reversed(node.before):
        yield _STEP * depth + _handler_text(handler)
        depth += 1
    alias = "" if node.alias is None else f" as {node.alias}"
    reads = "" if node.window is not None else f" reads {names}"
    filed = "" if node.filing is None else f", filed under {filing_text(node.filing, node.attributes)}"
    yield f"{_STEP * depth}from {node.kind.value} {node.source}{alias}{reads}{filed}"


def _handler_text(handler: HandlerPlan) -> str:
    if isinstance(handler, FilterPlan):
        return f"filter {expression_text(handler.condition, {})}  [{executor_text(handler.condition)}]"
    arguments = ", ".join(expression_text(argument, {}) for argument in handler.arguments)
    added = ", ".join(f"{attribute.name} {attribute.type}" for attribute in handler.appended)
    return f"call {handler.function.full_name}({arguments})" + (f" appends {added}" if added else "")
