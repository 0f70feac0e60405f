"""The order of revisions, and what is said when one is missing."""

from __future__ import annotations

from siddhi.errors import CannotRestoreStateError

__all__ = ["missing_revision", "revision_order"]


def revision_order(revision: str) -> tuple[int, str]:
    """Sorts revisions from old to new: by the time they begin with, as a number; without one, first and by name."""
    stamp = revision.partition("__")[0]
    return (int(stamp) if stamp.isdecimal() else -1, revision)


def missing_revision(app: str, revision: str, known: list[str]) -> CannotRestoreStateError:
    """The error for a revision an app does not have; names the newest ones it has."""
    there = f"the newest are {', '.join(known[:-4:-1])}" if known else "it has none"
    return CannotRestoreStateError(f"app '{app}' has no revision '{revision}' ({there})")
