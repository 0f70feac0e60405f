"""Explain patterns and sequences: their automaton, one state per line, numbered from 1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from siddhi.planner.explain.filing import filing_text
from siddhi.planner.plan.patterns import OverflowPolicy, PatternPlan, SlotPlan, StateKind, StatePlan
from siddhi.planner.plan.text import expression_text

__all__ = ["pattern_labels", "pattern_lines"]

_STEP = "  "


def pattern_labels(node: PatternPlan) -> dict[int, str]:
    """Return the names of the events by slot; number repeated streams without a reference."""
    labels: dict[int, str] = {}
    for number, slot in enumerate(node.slots):
        same = sum(other.label == slot.label for other in node.slots[:number])
        labels[number] = f"{slot.label} ({same + 1})" if same else slot.label
    return labels


def pattern_lines(node: PatternPlan, labels: Mapping[int, str]) -> Iterator[str]:
    """Yield the states, the events they wait for, and their next states."""
    within = "" if node.within_ms is None else f" within {node.within_ms} ms"
    most = ""
    if node.max_partial_matches is not None:
        then = "fail" if node.overflow is OverflowPolicy.FAIL else "drop the oldest"
        most = f", at most {node.max_partial_matches} partial matches, then {then}"
    yield f"{'sequence' if node.is_sequence else 'pattern'}{within}{most}"
    for source, filing in zip(node.sources, node.filings or (), strict=False):
        if filing is not None:
            attributes = next(slot.attributes for slot in node.slots if slot.source == source)
            under = filing_text(filing, attributes) if filing else "nothing"
            when = "while no match waits, " if node.sleeps else ""
            yield f"{_STEP}{when}stream {source} filed under {under}"
    for number, state in enumerate(node.states):
        yield f"{_STEP}{number + 1} {_wanted(state)}, {_moves(node, number, state)}"
        for slot in state.slots:
            yield from (f"{_STEP * 2}{line}" for line in _slot_lines(node.slots[slot], slot, labels))


def _wanted(state: StatePlan) -> str:
    if state.kind is StateKind.COUNT:
        return f"{state.min} to {state.max} events" if state.max >= 0 else f"{state.min} or more events"
    if state.kind is StateKind.ABSENT:
        return "no event"
    if state.kind is StateKind.STREAM:
        return "event"
    return "all of" if state.kind is StateKind.AND else "any of"


def _moves(node: PatternPlan, number: int, state: StatePlan) -> str:
    then = f"then {number + 2}" if number + 1 < len(node.states) else "then output"
    return then if state.again is None else f"{then}, again {state.again + 1}"


def _slot_lines(slot: SlotPlan, number: int, labels: Mapping[int, str]) -> Iterator[str]:
    filters = {other: label for other, label in labels.items() if other != number}
    named = "" if slot.label == slot.source else f"{slot.label} = "
    time = "" if slot.for_ms is None else f" for {slot.for_ms} ms"
    kept = "" if slot.absent else f" keeps {', '.join(slot.attributes[i].name for i in slot.kept) or 'nothing'}"
    yield f"{'not ' if slot.absent else ''}{named}{slot.kind.value} {slot.source}{time}{kept}"
    for condition in slot.alone:
        yield f"{_STEP}event condition {expression_text(condition, filters)}"
    for condition in slot.conditions:
        yield f"{_STEP}match condition {expression_text(condition, filters)}"
    for key in slot.keys:
        yield f"{_STEP}index {expression_text(key.own, filters)} = {expression_text(key.earlier, filters)}"
