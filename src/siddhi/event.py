"""What users hold of an event."""

from __future__ import annotations

from siddhi._core.user_event import Event

__all__ = ["Event"]
