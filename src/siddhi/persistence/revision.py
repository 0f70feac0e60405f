"""Names of revisions: their order, which to delete, and the error for a missing one."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from siddhi.errors import CannotRestoreStateError

__all__ = ["longest_revision", "missing_revision", "revision_order", "stamp_of", "surplus"]

_DIGITS = 19
"""Maximum number of digits of a time."""


def stamp_of(revision: str) -> int:
    """Return the time (ms since the epoch) with which a revision begins; -1 if it has none."""
    stamp = revision.partition("__")[0]
    return int(stamp) if stamp.isdecimal() and len(stamp) <= _DIGITS else -1


def revision_order(revision: str) -> tuple[int, str]:
    """Return the sort key of a revision, oldest first: by its time as a number; revisions without one first, by name."""
    return (stamp_of(revision), revision)


def longest_revision(app: str) -> str:
    """Return the longest possible revision of an app."""
    return f"{'9' * _DIGITS}__{app}"


def surplus(revisions: Sequence[str], whole: Collection[str], keep: int) -> list[str]:
    """Return the revisions to delete.

    Args:
        revisions: all revisions, oldest first.
        whole: the whole snapshots; the others are increments that depend on the last whole one before them.
        keep: number of newest whole snapshots to keep, with all increments after them. Revisions without a time in their
            name were not saved by an app and are kept as well.
    """
    dated = [revision for revision in revisions if stamp_of(revision) >= 0]
    kept = [index for index, revision in enumerate(dated) if revision in whole][-keep:]
    return dated[: kept[0]] if kept else []


def missing_revision(app: str, revision: str, known: list[str]) -> CannotRestoreStateError:
    """Make the error for a missing revision; it names the newest ones."""
    there = f"the newest are {', '.join(known[:-4:-1])}" if known else "it has none"
    return CannotRestoreStateError(f"app '{app}' has no revision '{revision}' ({there})")
