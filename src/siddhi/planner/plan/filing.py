"""Where the predicate index of a stream files a query: conditions on single attributes, in plain data.

A query is filed under one entry or several (``or``, lists of values). An event that meets none of them has no effect on
the query: its filter neither accepts the event nor fails. What else the filter says is evaluated for the events found.
"""

from __future__ import annotations

from siddhi._frozen import frozen
from siddhi.types import AttributeType

__all__ = ["Filing", "FilingEntry", "Interval", "KeyValue"]

KeyValue = bool | int | str | None
"""A value with one representation, or null."""


@frozen
class Interval:
    """The attribute at ``position``, compared as ``type`` (LONG or DOUBLE), lies between two bounds, both included."""

    position: int
    type: AttributeType
    low: int | float
    high: int | float


@frozen
class FilingEntry:
    """The attribute at ``position`` has this value (None: is null), and an attribute lies in ``interval``.

    Without ``position`` only the interval counts; without ``interval`` only the value. Each entry has one of them.
    """

    position: int | None = None
    value: KeyValue = None
    interval: Interval | None = None


Filing = tuple[FilingEntry, ...]
"""The entries of a query. Without entries no event has an effect on it: its filter is never true."""
