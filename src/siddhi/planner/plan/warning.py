"""Warnings about an app that is valid, but may not do what its author expects."""

from __future__ import annotations

from siddhi.query_api.span import Node, Span

__all__ = ["AppWarning"]


class AppWarning(str):
    """A warning: a text with location and hint, which are also attributes.

    Attributes:
        message: what is wrong.
        span: the location in the text (lines 1-based, columns 0-based), if known.
        hint: what to write instead, or None.
    """

    __slots__ = ("hint", "message", "span")

    message: str
    span: Span | None
    hint: str | None

    def __new__(cls, message: str, at: Node | Span | None = None, hint: str | None = None) -> AppWarning:
        span = at.span if isinstance(at, Node) else at
        location = "" if span is None else f" (line {span.line}, column {span.column})"
        made = super().__new__(cls, f"{message}{location}: {hint}" if hint else f"{message}{location}")
        made.message, made.span, made.hint = message, span, hint
        return made

    def order(self) -> tuple[int, int]:
        """Return the sort key of warnings: their location in the text; those without one come first."""
        return (0, 0) if self.span is None else (self.span.line, self.span.column)
