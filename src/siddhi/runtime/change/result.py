"""What a change of a running app has done."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AppChange"]


@dataclass(frozen=True, slots=True)
class AppChange:
    """What a change of a running app has done; elements are named like ``query 'q'``, by their names in the new app.

    Attributes:
        kept: elements with state that keep it.
        started_anew: elements that start with empty state, because they were reset, or have changed and had no state.
        added: definitions, queries and partitions that the app did not have.
        removed: those that it no longer has, by their former names.
        pause_ns: how long events waited for the change, in ns.
    """

    kept: tuple[str, ...] = ()
    started_anew: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    pause_ns: int = 0

    @property
    def pause_ms(self) -> float:
        """How long events waited for the change, in ms."""
        return self.pause_ns / 1e6
