"""What users do with the state of an app: take it, save it, put it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from siddhi.runtime.persistence import Persistence
from siddhi.runtime.state import SnapshotService

if TYPE_CHECKING:
    from siddhi.persistence import PersistenceStore
    from siddhi.runtime.assembly.app import Assembly

__all__ = ["AppState"]


class AppState:
    """Base of :class:`SiddhiAppRuntime`.

    Args:
        assembly: the app's operators.
        persistence_store: where :meth:`persist` saves, and whether in increments; None: nowhere.
    """

    def __init__(
        self, assembly: Assembly, persistence_store: Callable[[], tuple[PersistenceStore, bool] | None]
    ) -> None:
        from siddhi.runtime.assembly.elements import stateful_elements  # with the first app, as the compiler

        self._assembly = assembly
        self._state = SnapshotService(assembly.context, stateful_elements(assembly))
        self._persistence = Persistence(assembly.context.name, self._snapshot, self.restore, persistence_store)

    def snapshot(self) -> bytes:
        """The state of the app: windows, aggregates, pending timers. Data in a versioned format, not code.

        Sources are paused meanwhile.
        """
        return self._snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Replace the state by that of a snapshot of the same app.

        Raises:
            CannotRestoreStateError: it is damaged, of an unknown version or of another app, or a callback or function of
                the app asks while its event is at work; the state stays as it was.
        """
        with self._assembly.connectors.paused():
            self._state.restore(snapshot)

    def persist(self) -> str:
        """Save the state in the manager's persistence store; returns its revision.

        Sources are paused while the state is taken. With an incremental store what is the same as in earlier revisions is
        not saved again.

        Raises:
            NoPersistenceStoreError: the manager has none.
        """
        return self._persistence.persist()

    def restore_revision(self, revision: str) -> None:
        """Restore a saved state.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            DamagedSnapshotError: what was saved is torn or damaged.
            CannotRestoreStateError: there is no such revision, or it does not fit.
        """
        self._persistence.restore_revision(revision)

    def restore_last_revision(self) -> str | None:
        """Restore the newest saved state that can be read; returns its revision, or None where nothing was saved.

        A revision that is torn or damaged is passed over, with a warning that names it.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            DamagedSnapshotError: all of them are torn or damaged.
            CannotRestoreStateError: it does not fit.
        """
        return self._persistence.restore_last_revision()

    def clear_all_revisions(self) -> None:
        """Delete every saved state of this app.

        Raises:
            NoPersistenceStoreError: the manager has no store.
        """
        self._persistence.clear_all_revisions()

    def _snapshot(self, meanwhile: Callable[[], None] = lambda: None) -> bytes:
        with self._assembly.connectors.paused():
            return self._state.take(meanwhile)
