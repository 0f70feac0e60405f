"""The public event class, and access to the values of a row."""

from __future__ import annotations

from siddhi._core.record.user_event import Event, row_values

__all__ = ["Event", "row_values"]
