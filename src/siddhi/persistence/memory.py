"""Persistence store in memory, for tests and for restarts of an app within one process."""

from __future__ import annotations

from threading import Lock

from siddhi.persistence.revision import missing_revision, revision_order
from siddhi.persistence.store import PersistenceStore

__all__ = ["InMemoryPersistenceStore"]


class InMemoryPersistenceStore(PersistenceStore):
    """Keeps every snapshot in memory."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._snapshots: dict[str, dict[str, bytes]] = {}

    def save(self, app: str, revision: str, snapshot: bytes, *, base: str | None = None) -> None:  # noqa: ARG002 - keeps all
        """Save a snapshot; one of the same revision is replaced."""
        with self._lock:
            self._snapshots.setdefault(app, {})[revision] = bytes(snapshot)

    def load(self, app: str, revision: str) -> bytes:
        """Return the snapshot of a revision.

        Raises:
            CannotRestoreStateError: the app has no such revision.
        """
        with self._lock:
            snapshot = self._snapshots.get(app, {}).get(revision)
        if snapshot is None:
            raise missing_revision(app, revision, self.revisions(app))
        return snapshot

    def last_revision(self, app: str) -> str | None:
        """Return the newest revision of an app, or None."""
        revisions = self.revisions(app)
        return revisions[-1] if revisions else None

    def revisions(self, app: str) -> list[str]:
        """Return all revisions of an app, oldest first."""
        with self._lock:
            return sorted(self._snapshots.get(app, {}), key=revision_order)

    def clear_all_revisions(self, app: str) -> None:
        """Delete every snapshot of an app."""
        with self._lock:
            self._snapshots.pop(app, None)
