"""The location of an element of an app in the source text."""

from __future__ import annotations

from siddhi._frozen import field, frozen

__all__ = ["Node", "Span"]


@frozen
class Span:
    """A half-open range of source text; lines are 1-based, columns 0-based, as in the error messages of Siddhi."""

    line: int
    column: int
    end_line: int
    end_column: int


@frozen(kw_only=True)
class Node:
    """Base of all elements of an app. Equality ignores the span, so elements from different texts can be equal."""

    span: Span | None = field(default=None, compare=False, shown=False)
