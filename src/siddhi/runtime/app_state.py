"""What users do with the state of an app: take it, save it, put it back."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from siddhi.errors import NoPersistenceStoreError
from siddhi.runtime.state import SnapshotService, fingerprint_of

if TYPE_CHECKING:
    from siddhi.persistence import PersistenceStore
    from siddhi.runtime.assembly.app import Assembly

__all__ = ["AppState"]


class AppState:
    """Base of :class:`SiddhiAppRuntime`.

    Args:
        assembly: the app's operators.
        persistence_store: where :meth:`persist` saves; None: nowhere.
    """

    def __init__(self, assembly: Assembly, persistence_store: Callable[[], PersistenceStore | None]) -> None:
        self._assembly = assembly
        self._store = persistence_store
        self._state = SnapshotService(assembly.context, fingerprint_of(assembly.plan.app), assembly.stateful_steps())

    def snapshot(self) -> bytes:
        """The state of the app: windows, aggregates, pending timers. Data in a versioned format, not code.

        Sources are paused meanwhile.
        """
        with self._assembly.connectors.paused():
            return self._state.take()

    def restore(self, snapshot: bytes) -> None:
        """Replace the state by that of a snapshot of the same app.

        Raises:
            CannotRestoreStateError: it is damaged, of an unknown version or of another app, or a callback or function of
                the app asks while its event is at work; the state stays as it was.
        """
        with self._assembly.connectors.paused():
            self._state.restore(snapshot)

    def persist(self) -> str:
        """Save a snapshot in the manager's persistence store; returns its revision.

        Raises:
            NoPersistenceStoreError: the manager has none.
        """
        store = self._require_store()
        last = store.last_revision(self._assembly.context.name)
        stamp = int(time.time() * 1000)
        if last is not None:
            # Revisions order by name: two in one millisecond must not share it.
            stamp = max(stamp, int(last.split("__", 1)[0]) + 1)
        revision = f"{stamp}__{self._assembly.context.name}"
        store.save(self._assembly.context.name, revision, self.snapshot())
        return revision

    def restore_revision(self, revision: str) -> None:
        """Restore a saved snapshot.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            CannotRestoreStateError: there is no such revision, or it does not fit.
        """
        self.restore(self._require_store().load(self._assembly.context.name, revision))

    def restore_last_revision(self) -> str | None:
        """Restore the newest saved snapshot; returns its revision, or None where there is none.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            CannotRestoreStateError: it does not fit.
        """
        revision = self._require_store().last_revision(self._assembly.context.name)
        if revision is not None:
            self.restore_revision(revision)
        return revision

    def clear_all_revisions(self) -> None:
        """Delete every saved snapshot of this app.

        Raises:
            NoPersistenceStoreError: the manager has no store.
        """
        self._require_store().clear_all_revisions(self._assembly.context.name)

    def _require_store(self) -> PersistenceStore:
        store = self._store()
        if store is None:
            raise NoPersistenceStoreError(
                f"app '{self._assembly.context.name}' has nowhere to save: call manager.set_persistence_store(...) first"
            )
        return store
