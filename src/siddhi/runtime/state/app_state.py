"""What users do with the state of an app: take it, save it, put it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from siddhi.runtime.state.blocks import SnapshotPieces, put_together
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
        persistence_store: where :meth:`persist` saves, and whether in increments; None: nowhere.
    """

    def __init__(
        self, assembly: Assembly, persistence_store: Callable[[], tuple[PersistenceStore, bool] | None]
    ) -> None:
        self._sharding = AppSharding(lambda: (self._assembly, self._state))
        self._hold_state_of(assembly)
        self._pieces = SnapshotPieces()
        name, named = assembly.context.name, assembly.plan.app.name is not None
        self._persistence = Persistence(name, self._snapshot, self.restore, persistence_store, named=named)

    def snapshot(self) -> bytes:
        """The state of the app: windows, aggregates, pending timers. Data in a versioned format, not code.

        Sources are paused meanwhile.

        Raises:
            CannotSaveStateError: a callback or function of the app asks while its event is at work: some queries have seen
                it, others not; or the app holds an object that is not data.
        """
        return self._snapshot()

    def restore(self, snapshot: bytes) -> None:
        """Replace the state by that of a snapshot of the same app.

        One that was shut down is what it was when it was created, and then has the state: start it to go on.

        Raises:
            NotRunningError: it was shut down, and can't be started again.
            CannotRestoreStateError: it is damaged, of an unknown version or of another app, or a callback or function of
                the app asks while its event is at work; the state stays as it was.
        """
        self._begin_anew()
        with self._assembly.connectors.paused():
            self._state.restore(snapshot)

    def snapshot_pieces(self, dirty_only: bool = False) -> dict[bytes, bytes | None]:
        """The state of the app in pieces, for a store of many small values.

        A piece is called by what is in it, so most are the same the next time. A state below 256 KB is one piece.

        Args:
            dirty_only: leave out the pieces that the last call gave, or that the state was restored from.

        Returns:
            The pieces by name; always ``b""``, which tells how they go together. With ``dirty_only`` a piece that is needed
            no more is None.

        Raises:
            CannotSaveStateError: as :meth:`snapshot`.
        """
        return self._pieces.cut(self._snapshot(), dirty_only=dirty_only)

    def restore_pieces(self, pieces: Mapping[bytes, bytes]) -> None:
        """Replace the state by that of the pieces of one call of :meth:`snapshot_pieces`; more pieces do no harm.

        Raises:
            DamagedSnapshotError: a piece is missing or damaged; the message names it.
            CannotRestoreStateError: as :meth:`restore`; the state stays as it was.
        """
        self.restore(put_together(pieces))
        self._pieces.taken_in(pieces)

    @property
    def sharding(self) -> AppSharding:
        """For who spreads the app over several engines: what is this one's part."""
        return self._sharding

    def persist(self) -> str:
        """Save the state in the manager's persistence store; returns its revision.

        Sources are paused while the state is taken. With an incremental store what is the same as in earlier revisions is
        not saved again.

        Raises:
            NoPersistenceStoreError: the manager has none.
            PersistenceStoreError: the store can't be read or written, or reads back otherwise than was written.
            CannotSaveStateError: as :meth:`snapshot`.
        """
        return self._persistence.persist()

    def restore_revision(self, revision: str) -> None:
        """Restore a saved state.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            PersistenceStoreError: the store can't be read.
            DamagedSnapshotError: what was saved is torn or damaged.
            CannotRestoreStateError: there is no such revision, or it does not fit.
        """
        self._persistence.restore_revision(revision)

    def restore_last_revision(self) -> str | None:
        """Restore the newest saved state that can be read; returns its revision, or None where nothing was saved.

        A revision that is torn or damaged is passed over, with a warning that names it.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            PersistenceStoreError: the store can't be read.
            DamagedSnapshotError: all of them are torn or damaged.
            CannotRestoreStateError: it does not fit.
        """
        return self._persistence.restore_last_revision()

    def clear_all_revisions(self) -> None:
        """Delete every saved state of this app.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            PersistenceStoreError: the store can't be read.
        """
        self._persistence.clear_all_revisions()

    def _hold_state_of(self, assembly: Assembly) -> None:
        from siddhi.runtime.assembly.elements import stateful_elements  # with the first app, as the compiler

        self._assembly = assembly
        self._state = SnapshotService(assembly.context, stateful_elements(assembly))
        self._sharding.begin(self._state)

    def _begin_anew(self) -> None:
        """Be as when the app was created, if it was shut down."""
        raise NotImplementedError

    def _snapshot(self, meanwhile: Callable[[], None] = lambda: None) -> bytes:
        with self._assembly.connectors.paused():
            return self._state.take(meanwhile)
