"""Explain where the predicate index of a stream files a query."""

from __future__ import annotations

import math
from collections.abc import Sequence

from siddhi.planner.plan.filing import Filing, FilingEntry, Interval
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = ["filing_text"]

_MOST_SHOWN = 4


def filing_text(filing: Filing, attributes: Sequence[Attribute]) -> str:
    """Return the entries of a query, such as ``symbol == 'A', 3.0 <= price``; the first ones if there are many."""
    if not filing:
        return "nothing: its filter is never true"
    texts = [_entry_text(entry, attributes) for entry in filing[:_MOST_SHOWN]]
    if len(filing) > _MOST_SHOWN:
        texts.append(f"{len(filing) - _MOST_SHOWN} more")
    return " or ".join(texts)


def _entry_text(entry: FilingEntry, attributes: Sequence[Attribute]) -> str:
    parts = []
    if entry.position is not None:
        name = attributes[entry.position].name
        value = str(entry.value).lower() if isinstance(entry.value, bool) else repr(entry.value)
        parts.append(f"{name} is null" if entry.value is None else f"{name} == {value}")
    if entry.interval is not None:
        parts.append(_interval_text(entry.interval, attributes))
    return ", ".join(parts)


def _interval_text(interval: Interval, attributes: Sequence[Attribute]) -> str:
    name = attributes[interval.position].name
    if interval.low == interval.high:
        return f"{name} == {interval.low}"
    least, most = (-(2**63), 2**63 - 1) if interval.type is AttributeType.LONG else (-math.inf, math.inf)
    low = "" if interval.low == least else f"{interval.low} <= "
    high = "" if interval.high == most else f" <= {interval.high}"
    return f"{low}{name}{high}"
