"""The order of revisions, which of them are kept, and what is said when one is missing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from siddhi.errors import CannotRestoreStateError

__all__ = ["longest_revision", "missing_revision", "revision_order", "stamp_of", "surplus"]

_DIGITS = 19
"""Of a time, at the most."""


def stamp_of(revision: str) -> int:
    """The time (ms since the epoch) a revision begins with; -1 without one."""
    stamp = revision.partition("__")[0]
    return int(stamp) if stamp.isdecimal() and len(stamp) <= _DIGITS else -1


def revision_order(revision: str) -> tuple[int, str]:
    """Sorts revisions from old to new: by the time they begin with, as a number; without one, first and by name."""
    return (stamp_of(revision), revision)


def longest_revision(app: str) -> str:
    """The longest revision that an app of this name can come to."""
    return f"{'9' * _DIGITS}__{app}"


def surplus(revisions: Sequence[str], whole: Collection[str], keep: int) -> list[str]:
    """The revisions to delete.

    Args:
        revisions: all, oldest first.
        whole: those that stand alone; the others are made of what was saved since the last such one before them.
        keep: how many of the newest whole ones stay, with everything behind them. What has no time in its name was not put
            there by an app, and stays as well.
    """
    dated = [revision for revision in revisions if stamp_of(revision) >= 0]
    kept = [place for place, revision in enumerate(dated) if revision in whole][-keep:]
    return dated[: kept[0]] if kept else []


def missing_revision(app: str, revision: str, known: list[str]) -> CannotRestoreStateError:
    """The error for a revision an app does not have; names the newest ones it has."""
    there = f"the newest are {', '.join(known[:-4:-1])}" if known else "it has none"
    return CannotRestoreStateError(f"app '{app}' has no revision '{revision}' ({there})")
