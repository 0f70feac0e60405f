"""Error for features that the planner accepts and this engine does not support: an app is never run in part."""

from __future__ import annotations

from siddhi.errors import SiddhiAppCreationError
from siddhi.query_api.span import Span

__all__ = ["not_supported"]


def not_supported(what: str, span: Span | None, hint: str | None = None) -> SiddhiAppCreationError:
    """Make the error for an unsupported feature."""
    return SiddhiAppCreationError(f"{what} not supported yet", code="E390", span=span, hint=hint)
