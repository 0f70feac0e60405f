"""State of an app: taking snapshots, saving and restoring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from siddhi._core.runtime.change_gate import ChangeGate
from siddhi.runtime.state.blocks import SnapshotBlocks, join_blocks
from siddhi.runtime.state.identity import names_of
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
        self._gate = ChangeGate(lambda: self._assembly.context.lock.is_mine)
        self._bind_state(assembly)
        self._blocks = SnapshotBlocks()
        name, named = assembly.context.name, assembly.plan.app.name is not None
        self._persistence = Persistence(
            name, self._snapshot, self._restore, persistence_store, self._checkpoint, named=named
        )

    def snapshot(self) -> bytes:
        """Return the state of the app: windows, aggregates, pending timers. Data in a versioned format, not code.

        Sources are paused meanwhile.

        Raises:
            CannotSaveStateError: the caller is a callback or function of the app that is processing an event, which some
                queries have seen and others have not; or the state can't be serialized.
        """
        return self._snapshot()

    def restore(self, snapshot: bytes, *, reset: Iterable[str] = ()) -> None:
        """Replace the state by that of a snapshot of the same app.

        An app that was shut down is rebuilt first; start it to go on with the restored state. The text of the app may differ
        from that of the snapshot in what holds no state; queries without a name are recognized by their text.

        Args:
            snapshot: the snapshot.
            reset: names of elements that start with empty state, such as those whose definition has changed since.

        Raises:
            NotRunningError: the app was shut down and can't be started again.
            CannotRestoreStateError: the snapshot is damaged, of an unknown version or of another app, the definition of an
                element has changed, or the caller is a callback or function of the app that is processing an event; the state
                is unchanged.
            ValueError: the app has no element of a name in ``reset``.
        """
        self._restore(snapshot, names_of(reset))

    def _restore(self, snapshot: bytes, reset: tuple[str, ...]) -> None:
        if reset:
            self._restore_anew(snapshot, reset)
            return
        with self._gate:
            self._rebuild_if_closed()
            with self._assembly.connectors.paused():
                self._state.restore(snapshot)

    def snapshot_blocks(self, dirty_only: bool = False) -> dict[bytes, bytes | None]:
        """Return the state of the app in blocks, for a store of many small values.

        The name of a block is a hash of its content, so that most blocks recur in the next call. A state below 256 KB is one
        block.

        Args:
            dirty_only: leave out the blocks that the last call returned, or from which the state was restored.

        Returns:
            The blocks by name, always including ``b""``, the list of all blocks in order. With ``dirty_only`` the value of a
            block that is no longer needed is None.

        Raises:
            CannotSaveStateError: as :meth:`snapshot`.
        """
        return self._blocks.cut(self._snapshot(), dirty_only=dirty_only)

    def restore_blocks(self, blocks: Mapping[bytes, bytes]) -> None:
        """Replace the state by that of the blocks of one call of :meth:`snapshot_blocks`; additional blocks are ignored.

        Raises:
            DamagedSnapshotError: a block is missing or damaged; the message names it.
            CannotRestoreStateError: as :meth:`restore`; the state is unchanged.
        """
        self.restore(join_blocks(blocks))
        self._blocks.set_baseline(blocks)

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

    def restore_revision(self, revision: str, *, reset: Iterable[str] = ()) -> None:
        """Restore a saved state.

        Args:
            revision: its revision.
            reset: as :meth:`restore`.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            PersistenceStoreError: the store can't be read.
            DamagedSnapshotError: the revision is truncated or damaged.
            CannotRestoreStateError: there is no such revision, or it does not match the app.
        """
        self._persistence.restore_revision(revision, names_of(reset))

    def restore_last_revision(self, *, reset: Iterable[str] = ()) -> str | None:
        """Restore the newest revision that can be read; return it, or None if nothing was saved.

        A truncated or damaged revision is skipped, with a warning that names it.

        Args:
            reset: as :meth:`restore`.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            PersistenceStoreError: the store can't be read.
            DamagedSnapshotError: all revisions are truncated or damaged.
            CannotRestoreStateError: the revision does not match the app.
        """
        return self._persistence.restore_last_revision(names_of(reset))

    def clear_all_revisions(self) -> None:
        """Delete every saved state of this app.

        Raises:
            NoPersistenceStoreError: the manager has no store.
            PersistenceStoreError: the store can't be read.
        """
        self._persistence.clear_all_revisions()

    def _bind_state(self, assembly: Assembly, state: SnapshotService | None = None) -> None:
        from siddhi.runtime.assembly.elements import stateful_elements  # loaded with the first app

        self._assembly = assembly
        self._state = SnapshotService(assembly.context, stateful_elements(assembly)) if state is None else state
        self._sharding.begin(self._state)

    def _rebuild_if_closed(self) -> None:
        """Rebuild the app as when it was created, if it was shut down."""
        raise NotImplementedError

    def _checkpoint(self) -> Callable[[bool], None]:
        return self._assembly.connectors.checkpoint()

    def _restore_anew(self, snapshot: bytes, reset: tuple[str, ...]) -> None:
        """Restore a snapshot, without the elements of these names."""
        raise NotImplementedError

    def _snapshot(self, meanwhile: Callable[[], None] = lambda: None) -> bytes:
        with self._gate, self._assembly.connectors.paused():
            return self._state.take(meanwhile)
