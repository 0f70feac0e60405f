"""What happens again and again, as with each event that fails, and is not to fill the log."""

from __future__ import annotations

from threading import Lock

__all__ = ["Repeats"]


class Repeats:
    """Counts what happens by kind, and says when it is worth a line: the first few times, then the 16th, the 32nd, the 64th, ...

    Nothing of it goes by time, so that the same events give the same lines. Any thread may use it.

    Args:
        first: times of a kind that are all worth a line; 1 or more.
        most: times between two lines at the most.
    """

    def __init__(self, first: int = 8, most: int = 100_000) -> None:
        self._first = first
        self._most = most
        self._lock = Lock()
        self._counts: dict[str, tuple[int, int]] = {}  # how often by now, and as of the last line

    def note(self, kind: str) -> str | None:
        """Count one; None: it is not worth a line. Else what the line says behind the rest: how often, and of how many nothing
        was said.
        """
        with self._lock:
            count, told = self._counts.get(kind, (0, 0))
            count += 1
            due = count <= self._first or count >= min(2 * told, told + self._most)
            self._counts[kind] = (count, count if due else told)
        if not due:
            return None
        return "" if count <= self._first else f" ({count:,} like this by now, {count - told - 1:,} of them not shown)"

    def rest(self) -> list[str]:
        """Of each kind of which something was not said since its last line, how often; all is counted from the start again."""
        with self._lock:
            counts, self._counts = self._counts, {}
        return [
            f"{kind}: {count:,} in all, of which the last {count - told:,} are not shown"
            for kind, (count, told) in counts.items()
            if count > told
        ]
