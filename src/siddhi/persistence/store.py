"""What the runtime asks of a persistence store."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["PersistenceStore"]


class PersistenceStore(ABC):
    """Keeps snapshots under revisions, for each app by its name.

    A revision is text such as ``1700000000000__App``: the time of the snapshot in ms since the epoch, and the app. Stores
    may be called from several threads at once. Whatever a method raises reaches the caller of ``persist`` or ``restore``.

    A store that can't be read raises :class:`~siddhi.errors.PersistenceStoreError`: where it says that there is nothing, an
    app begins empty. One that deletes older revisions reads the new one back before.

    Where states are saved in increments (``manager.set_incremental_persistence_store``), what is saved under a revision may
    be made of what earlier revisions hold: all of them from its ``base`` on have to stay as long as it does. A store that
    deletes nothing by itself need not look at it.

    Example:
        >>> from siddhi.persistence import InMemoryPersistenceStore
        >>> store = InMemoryPersistenceStore()
        >>> store.save("App", "1700000000000__App", b"state")
        >>> store.load("App", store.last_revision("App"))
        b'state'
    """

    def refuses(self, app: str) -> str | None:  # noqa: ARG002 - for those that can't keep any name
        """Why it can't keep states of an app of this name; None: it can. Asked when the app is created."""
        return None

    @abstractmethod
    def save(self, app: str, revision: str, snapshot: bytes, *, base: str | None = None) -> None:
        """Keep a snapshot; one of the same revision is replaced. When this returns, it is safe.

        Args:
            app: name of the app.
            revision: under which it will be asked for.
            snapshot: what to keep.
            base: the oldest revision it is made of; None: it stands alone. A store for whole snapshots only
                (``manager.set_persistence_store``) can do without this argument.
        """

    @abstractmethod
    def load(self, app: str, revision: str) -> bytes:
        """The snapshot of a revision.

        Raises:
            DamagedSnapshotError: it is not what was saved.
            CannotRestoreStateError: the app has no such revision, or it can't be read.
        """

    @abstractmethod
    def last_revision(self, app: str) -> str | None:
        """The newest revision of an app, None where it has none."""

    @abstractmethod
    def revisions(self, app: str) -> list[str]:
        """All revisions of an app, oldest first."""

    @abstractmethod
    def clear_all_revisions(self, app: str) -> None:
        """Delete every snapshot of an app."""
