"""What the planner accepts and this engine does not run: refused by name, never run in part."""

from __future__ import annotations

from siddhi.errors import SiddhiAppCreationError
from siddhi.query_api.span import Span

__all__ = ["not_supported"]


def not_supported(what: str, span: Span | None, hint: str | None = None) -> SiddhiAppCreationError:
    """The error that says so."""
    return SiddhiAppCreationError(f"{what} not supported yet", code="E390", span=span, hint=hint)
