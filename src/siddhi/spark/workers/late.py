"""What happens to rows that come behind the watermark."""

from __future__ import annotations

from typing import Literal

__all__ = ["LATE_POLICIES", "LatePolicy"]

LatePolicy = Literal["drop", "side", "error"]
LATE_POLICIES: tuple[LatePolicy, ...] = ("drop", "side", "error")
"""``drop``: counted; ``side``: counted and put out as ``<Stream>__late``; ``error``: the query fails."""
