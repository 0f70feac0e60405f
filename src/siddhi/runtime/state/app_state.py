"""State of an app: taking snapshots, saving and restoring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from siddhi.runtime.state.blocks import SnapshotPieces, join_pieces
from siddhi.runtime.state.persistence import Persistence
from siddhi.runtime.state.sharding import AppSharding
from siddhi.runtime.state.snapshot import SnapshotService

if TYPE_CHECKING:
    from siddhi.persistence import PersistenceStore
    from siddhi.runtime.assembly.app import Assembly

__all__ = ["AppState"]


class AppState:
    """Base of :class:`SiddhiAppRuntime`.

    Args:
        assembly: the app's operators.
        persistence_store: returns the store of :meth:`persist` and whether it is incremental; None: there is no store.
    """

    def __init__(
        self, assembly: Assembly, persistence_store: Callable[[], tuple[PersistenceStore, bool] | None]
    ) -> None:
        self._sharding = AppSharding(lambda: (self._assembly, self._state))
        self._bind_state(assembly)
        self._pieces = SnapshotPieces()
        name, named = assembly.context.name, assembly.plan.app.name is not None
        self._persistence = Persistence(
            name, self._snapshot, self.restore, persistence_store, self._checkpoint, named=named
        )

    def snapshot(self) -> bytes:
        """Return the state of the app: windows, aggregates, pending timers. Data in a versioned format, not code.

        Sources are paused meanwhile.

        Raises:
            CannotSaveStateError: the caller is a callback or function of the app that is processing an event, which some
                queries have seen and others have not; or the state can't be serialized.
        """
        return self._snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Replace the state by that of a snapshot of the same app.

        An app that was shut down is rebuilt first; start it to go on with the restored state.

        Raises:
            NotRunningError: the app was shut down and can't be started again.
            CannotRestoreStateError: the snapshot is damaged, of an unknown version or of another app, or the caller is a
                callback or function of the app that is processing an event; the state is unchanged.
        """
        self._rebuild_if_closed()
        with self._assembly.connectors.paused():
            self._state.restore(snapshot)

    def snapshot_pieces(self, dirty_only: bool = False) -> dict[bytes, bytes | None]:
        """Return the state of the app in pieces, for a store of many small values.

        The name of a piece is a hash of its content, so that most pieces recur in the next call. A state below 256 KB is one
        piece.

        Args:
            dirty_only: leave out the pieces that the last call returned, or from which the state was restored.

        Returns:
            The pieces by name, always including ``b""``, the list of all pieces in order. With ``dirty_only`` the value of a
            piece that is no longer needed is None.

        Raises:
            CannotSaveStateError: as :meth:`snapshot`.
        """
        return self._pieces.cut(self._snapshot(), dirty_only=dirty_only)

    def restore_pieces(self, pieces: Mapping[bytes, bytes]) -> None:
        """Replace the state by that of the pieces of one call of :meth:`snapshot_pieces`; additional pieces are ignored.

        Raises:
            DamagedSnapshotError: a piece is missing or damaged; the message names it.
            CannotRestoreStateError: as :meth:`restore`; the state is unchanged.
        """
        self.restore(join_pieces(pieces))
        self._pieces.set_baseline(pieces)

    @property
    def sharding(self) -> AppSharding:
        """Interface for distributing the app over several engines: which part belongs to this one."""
        return self._sharding

    def persist(self) -> str:
        """Save the state in the manager's persistence store; return its revision.

        Sources are paused while the snapshot is taken. An incremental store saves only the parts that earlier revisions do
        not contain.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            PersistenceStoreError: the store can't be read or written, or returned other bytes than were written.
            CannotSaveStateError: as :meth:`snapshot`.
        """
        return self._persistence.persist()

    def restore_revision(self, revision: str) -> None:
        """Restore a saved state.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            PersistenceStoreError: the store can't be read.
            DamagedSnapshotError: the revision is truncated or damaged.
            CannotRestoreStateError: there is no such revision, or it does not match the app.
        """
        self._persistence.restore_revision(revision)

    def restore_last_revision(self) -> str | None:
        """Restore the newest revision that can be read; return it, or None if nothing was saved.

        A truncated or damaged revision is skipped, with a warning that names it.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            PersistenceStoreError: the store can't be read.
            DamagedSnapshotError: all revisions are truncated or damaged.
            CannotRestoreStateError: the revision does not match the app.
        """
        return self._persistence.restore_last_revision()

    def clear_all_revisions(self) -> None:
        """Delete every saved state of this app.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            PersistenceStoreError: the store can't be read.
        """
        self._persistence.clear_all_revisions()

    def _bind_state(self, assembly: Assembly) -> None:
        from siddhi.runtime.assembly.elements import stateful_elements  # loaded with the first app

        self._assembly = assembly
        self._state = SnapshotService(assembly.context, stateful_elements(assembly))
        self._sharding.begin(self._state)

    def _rebuild_if_closed(self) -> None:
        """Rebuild the app as when it was created, if it was shut down."""
        raise NotImplementedError

    def _checkpoint(self) -> Callable[[], None]:
        return self._assembly.connectors.checkpoint()

    def _snapshot(self, meanwhile: Callable[[], None] = lambda: None) -> bytes:
        with self._assembly.connectors.paused():
            return self._state.take(meanwhile)
