"""What users hold of an event, and how the values of a row are read."""

from __future__ import annotations

from siddhi._core.record import row_values
from siddhi._core.user_event import Event

__all__ = ["Event", "row_values"]
