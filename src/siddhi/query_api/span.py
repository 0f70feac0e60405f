"""Where in the source text an element of an app stands."""

from __future__ import annotations

from siddhi._frozen import field, frozen

__all__ = ["Node", "Span"]


@frozen
class Span:
    """A half-open piece of source text; lines are 1-based, columns 0-based (as SiddhiQL's messages count them)."""

    line: int
    column: int
    end_line: int
    end_column: int


@frozen(kw_only=True)
class Node:
    """Base of everything an app can say. The span never takes part in equality: two texts that mean the same are equal."""

    span: Span | None = field(default=None, compare=False, shown=False)
