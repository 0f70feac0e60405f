"""What users hold of an event, and how the values of a row are read."""

from __future__ import annotations

from siddhi._core.record.user_event import Event, row_values

__all__ = ["Event", "row_values"]
