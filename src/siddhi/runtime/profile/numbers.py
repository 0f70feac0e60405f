"""Numbers as people read them."""

from __future__ import annotations

__all__ = ["bytes_text", "count_text", "share_text", "time_text"]


def count_text(number: int | None) -> str:
    """Return a count of events in at most five characters: 950, 12.3k, 4.5M."""
    if number is None:
        return ""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= limit:
            scaled = number / (1e3 if unit == "k" else limit)
            return f"{scaled:.0f}{unit}" if scaled >= 100 else f"{scaled:.1f}{unit}"
    return str(number)


def time_text(seconds: float) -> str:
    """Return a time with its unit: 1.25 s, 12.5 ms, 340 µs, 80 ns."""
    for limit, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= limit:
            scaled = seconds / limit
            return f"{scaled:.0f} {unit}" if scaled >= 100 else f"{scaled:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def share_text(share: float) -> str:
    """Return a share as a percentage: 71 %, 4.2 %, 0.1 %."""
    percent = share * 100
    return f"{percent:.0f} %" if percent >= 9.95 else f"{percent:.1f} %"


def bytes_text(number: int) -> str:
    """Return a size with its unit: 1.2 MB."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if number >= limit:
            return f"{number / limit:.3g} {unit}"
    return f"{number} B"
