"""What is said of an app that is taken, but not as its author may think."""

from __future__ import annotations

from siddhi.query_api.span import Node, Span

__all__ = ["AppWarning"]


class AppWarning(str):
    """A warning: text with place and hint, which are also there by themselves.

    Attributes:
        message: what is wrong.
        span: where in the text (lines 1-based, columns 0-based), if known.
        hint: what to write instead, or None.
    """

    __slots__ = ("hint", "message", "span")

    message: str
    span: Span | None
    hint: str | None

    def __new__(cls, message: str, at: Node | Span | None = None, hint: str | None = None) -> AppWarning:
        span = at.span if isinstance(at, Node) else at
        place = "" if span is None else f" (line {span.line}, column {span.column})"
        made = super().__new__(cls, f"{message}{place}: {hint}" if hint else f"{message}{place}")
        made.message, made.span, made.hint = message, span, hint
        return made

    def order(self) -> tuple[int, int]:
        """By which warnings are sorted: the place in the text, behind those that have none."""
        return (0, 0) if self.span is None else (self.span.line, self.span.column)
