"""Rate limit for log lines about repeated problems, such as an error per event."""

from __future__ import annotations

from threading import Lock

__all__ = ["Repeats"]


class Repeats:
    """Counts occurrences by kind and decides which to log: the first few, then the 16th, the 32nd, the 64th, ...

    The decision does not depend on time, so the same events always log the same lines. Thread-safe.

    Args:
        first: number of initial occurrences of a kind that are all logged; 1 or more.
        most: maximum number of occurrences between two lines.
    """

    def __init__(self, first: int = 8, most: int = 100_000) -> None:
        self._first = first
        self._most = most
        self._lock = Lock()
        self._counts: dict[str, tuple[int, int]] = {}  # occurrences so far, and at the last line

    def note(self, kind: str) -> str | None:
        """Count one occurrence; return None if it is not to be logged, else a suffix for the line: total and omitted count."""
        with self._lock:
            count, logged = self._counts.get(kind, (0, 0))
            count += 1
            due = count <= self._first or count >= min(2 * logged, logged + self._most)
            self._counts[kind] = (count, count if due else logged)
        if not due:
            return None
        return (
            "" if count <= self._first else f" ({count:,} like this so far, {count - logged - 1:,} of them not shown)"
        )

    def summary(self) -> list[str]:
        """Return a line for each kind with occurrences since its last line, and reset the counts."""
        with self._lock:
            counts, self._counts = self._counts, {}
        return [
            f"{kind}: {count:,} in all, of which the last {count - logged:,} are not shown"
            for kind, (count, logged) in counts.items()
            if count > logged
        ]
