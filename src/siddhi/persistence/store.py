"""Interface of persistence stores."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["PersistenceStore"]


class PersistenceStore(ABC):
    """Saves the snapshots of apps under revisions.

    A revision is a text such as ``1700000000000__App``: the time of the snapshot in ms since the epoch, and the app. Stores
    may be called from several threads at once. Errors of a method reach the caller of ``persist`` or ``restore``.

    A store that can't be read must raise :class:`~siddhi.errors.PersistenceStoreError`: if it returned no revisions, an app
    would start with empty state. A store that deletes older revisions must read the new one back first.

    With incremental saving (``manager.set_incremental_persistence_store``), a revision may depend on earlier revisions: all
    of them from its ``base`` on must be kept as long as it is. A store that deletes nothing can ignore ``base``.

    Example:
        >>> from siddhi.persistence import InMemoryPersistenceStore
        >>> store = InMemoryPersistenceStore()
        >>> store.save("App", "1700000000000__App", b"state")
        >>> store.load("App", store.last_revision("App"))
        b'state'
    """

    def refuses(self, app: str) -> str | None:  # noqa: ARG002 - for stores that restrict names
        """Return why the state of an app can't be saved under its name; None: it can. Called when the app is created."""
        return None

    @abstractmethod
    def save(self, app: str, revision: str, snapshot: bytes, *, base: str | None = None) -> None:
        """Save a snapshot durably; one of the same revision is replaced.

        Args:
            app: name of the app.
            revision: name of the revision.
            snapshot: the bytes to save.
            base: the oldest revision on which it depends; None: it is a whole snapshot. A store for whole snapshots only
                (``manager.set_persistence_store``) can omit this parameter.
        """

    @abstractmethod
    def load(self, app: str, revision: str) -> bytes:
        """Return the snapshot of a revision.

        Raises:
            DamagedSnapshotError: the snapshot is not as it was saved.
            CannotRestoreStateError: the app has no such revision, or the revision can't be read.
        """

    @abstractmethod
    def last_revision(self, app: str) -> str | None:
        """Return the newest revision of an app, or None."""

    @abstractmethod
    def revisions(self, app: str) -> list[str]:
        """Return all revisions of an app, oldest first."""

    @abstractmethod
    def clear_all_revisions(self, app: str) -> None:
        """Delete every snapshot of an app."""
