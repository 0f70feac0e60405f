"""Patterns and sequences."""

from __future__ import annotations

from dataclasses import dataclass

from siddhi.errors import SiddhiAppError
from siddhi.planner.problems import unsupported
from siddhi.query_api.input import Pattern, Sequence

__all__ = ["PatternPlan", "refuse_pattern"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternPlan:
    """A pattern or sequence; ``within_ms`` in milliseconds."""

    is_sequence: bool
    within_ms: int | None = None


def refuse_pattern(node: Pattern | Sequence) -> SiddhiAppError:
    """The error for an input this engine does not run."""
    return unsupported("sequences" if isinstance(node, Sequence) else "patterns", node)
