"""Policies for late rows."""

from __future__ import annotations

from typing import Literal

__all__ = ["LATE_POLICIES", "LatePolicy", "late_stream"]

LatePolicy = Literal["drop", "side", "error"]
LATE_POLICIES: tuple[LatePolicy, ...] = ("drop", "side", "error")
"""``drop``: counted; ``side``: counted and emitted as ``<Stream>__late``; ``error``: the query fails."""
_SUFFIX = "__late"


def late_stream(output: str, late: LatePolicy) -> str | None:
    """Return the bound stream whose late rows an output is; None: the output is a stream of the app."""
    return output.removesuffix(_SUFFIX) if late == "side" and output.endswith(_SUFFIX) else None
