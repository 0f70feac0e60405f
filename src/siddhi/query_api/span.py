"""The location of an element of an app in the source text."""

from __future__ import annotations

from typing import TypeVar

from siddhi._frozen import Frozen, field, fields, frozen

__all__ = ["Node", "Span", "moved"]

_Item = TypeVar("_Item")


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


def moved(item: _Item, lines: int) -> _Item:
    """Return an element, or a tuple of elements, as it is in a text with so many lines more before it."""
    changed: object = item
    if isinstance(item, Span):
        changed = Span(item.line + lines, item.column, item.end_line + lines, item.end_column)
    elif isinstance(item, tuple):
        changed = tuple([moved(each, lines) for each in item])
    elif isinstance(item, Frozen):
        changed = type(item)(**{each.name: moved(getattr(item, each.name), lines) for each in fields(item)})
    return changed  # type: ignore[return-value]
