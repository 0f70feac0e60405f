"""Revisions of an app's state in a persistence store, whole or incremental."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING

from siddhi.errors import (
    CannotRestoreStateError,
    CannotSaveStateError,
    DamagedSnapshotError,
    NoPersistenceStoreError,
)
from siddhi.persistence.revision import stamp_of
from siddhi.runtime.state.increments import Increments, assemble
from siddhi.runtime.state.snapshot import check_form

if TYPE_CHECKING:
    from siddhi.persistence import PersistenceStore

__all__ = ["Persistence"]

logger = logging.getLogger("siddhi")


class Persistence:
    """Saves and restores the state of one app.

    Args:
        app: name of the app.
        take: takes a snapshot, and calls its argument while the app is stopped.
        restore: restores a snapshot, without the elements of these names.
        store: returns the persistence store and whether it is incremental; None: there is no store.
        checkpoint: called while the app is stopped for a snapshot; returns the function to call with whether that was saved.
        named: whether the app has a name of its own, which it will have next time, too.
    """

    def __init__(
        self,
        app: str,
        take: Callable[[Callable[[], None]], bytes],
        restore: Callable[[bytes, tuple[str, ...]], None],
        store: Callable[[], tuple[PersistenceStore, bool] | None],
        checkpoint: Callable[[], Callable[[bool], None]],
        *,
        named: bool = True,
    ) -> None:
        self._app = app
        self._take = take
        self._restore = restore
        self._find_store = store
        self._checkpoint = checkpoint
        self._named = named
        self._saving = Lock()
        self._last_stamp = -1
        self._increments: Increments | None = None
        self._increments_in: PersistenceStore | None = None

    def persist(self) -> str:
        """Save the state and return its revision.

        Older revisions are deleted by the store, and only after the state has been found restorable in form, and has been
        read back as it was written.

        Raises:
            NoPersistenceStoreError: there is no store.
            PersistenceStoreError: the store can't be read or written.
            CannotSaveStateError: the state could not be restored.
        """
        store, incremental = self._store()
        if not self._named:
            self._named = True
            logger.warning(
                "app '%s' has a random name, under which no app created later finds this state: "
                "name the app with @app:name('...')",
                self._app,
            )
        last = store.last_revision(self._app)
        known = -1 if last is None else stamp_of(last)
        if stamp_of(f"{known + 1}__") < 0:
            raise CannotSaveStateError(
                f"the state of app '{self._app}' was not saved: no revision can be newer than '{last}'; delete that revision"
            )
        stamp = -1
        notifies: list[Callable[[bool], None]] = []

        def while_stopped() -> None:
            # The names of revisions must sort as their states do by time: two in one
            # millisecond need different names, and a later one must sort after an earlier one.
            nonlocal stamp
            stamp = self._last_stamp = max(time.time_ns() // 1_000_000, known + 1, self._last_stamp + 1)
            notifies.append(self._checkpoint())

        try:
            snapshot = self._take(while_stopped)
            self._require_form(snapshot)
            revision = f"{stamp}__{self._app}"
            with self._saving:
                if incremental:
                    self._save_increment(store, revision, snapshot)
                else:
                    self._increments = None
                    store.save(self._app, revision, snapshot)
        except BaseException:
            for notify in notifies:
                notify(False)
            raise
        for notify in notifies:
            notify(True)
        return revision

    def restore_revision(self, revision: str, reset: tuple[str, ...] = ()) -> None:
        """Restore a saved state.

        Raises:
            NoPersistenceStoreError: there is no store.
            PersistenceStoreError: the store can't be read.
            DamagedSnapshotError: the revision is truncated or damaged.
            CannotRestoreStateError: there is no such revision, or it does not match the app.
        """
        self._restore_from(self._store()[0], revision, reset)

    def restore_last_revision(self, reset: tuple[str, ...] = ()) -> str | None:
        """Restore the newest revision that can be read and return it; return None if there is none.

        Raises:
            NoPersistenceStoreError: there is no store.
            PersistenceStoreError: the store can't be read.
            DamagedSnapshotError: there are revisions, but all are truncated or damaged.
            CannotRestoreStateError: the revision does not match the app.
        """
        store = self._store()[0]
        damage: DamagedSnapshotError | None = None
        for revision in reversed(store.revisions(self._app)):
            try:
                self._restore_from(store, revision, reset, listed=True)
            except DamagedSnapshotError as error:
                logger.warning("app '%s': revision '%s' is skipped: %s", self._app, revision, error)
                damage = damage or error
            else:
                return revision
        if damage is not None:
            raise DamagedSnapshotError(
                f"app '{self._app}' has no readable revision; error of the newest: {damage}"
            ) from damage
        return None

    def clear_all_revisions(self) -> None:
        """Delete all revisions.

        Raises:
            NoPersistenceStoreError: there is no store.
        """
        store = self._store()[0]
        with self._saving:
            self._increments = None
            store.clear_all_revisions(self._app)

    def _restore_from(
        self, store: PersistenceStore, revision: str, reset: tuple[str, ...], *, listed: bool = False
    ) -> None:
        """Restore a revision. ``listed``: the store lists it, so if it can't be loaded, it is lost."""

        def load(name: str) -> bytes:
            try:
                return store.load(self._app, name)
            except DamagedSnapshotError:
                raise
            except CannotRestoreStateError as error:
                if not listed:
                    raise
                raise DamagedSnapshotError(f"the content of revision '{name}' is lost") from error

        self._restore(assemble(load(revision), load), reset)
        with self._saving:
            self._increments = None  # the next state has little in common with the last one saved

    def _require_form(self, snapshot: bytes) -> None:
        """Check that a snapshot can be restored in form, before it replaces others.

        Raises:
            CannotSaveStateError: it can't.
        """
        try:
            check_form(snapshot)
        except ValueError as error:
            raise CannotSaveStateError(
                f"the state of app '{self._app}' was not saved, as it could not be restored: {error}"
            ) from error

    def _save_increment(self, store: PersistenceStore, revision: str, snapshot: bytes) -> None:
        increments = self._increments
        # Reset until saved: after a failure the contents of the store are unknown.
        self._increments = None
        if (
            increments is None
            or self._increments_in is not store
            # Another process saved or deleted meanwhile; revisions that an increment would need may be gone.
            or store.last_revision(self._app) != increments.last
        ):
            increments, self._increments_in = Increments(), store
        content, base = increments.reduce(snapshot, revision)
        store.save(self._app, revision, content, base=base)
        self._increments = increments

    def _store(self) -> tuple[PersistenceStore, bool]:
        found = self._find_store()
        if found is None:
            raise NoPersistenceStoreError(
                f"app '{self._app}' has no persistence store: call manager.set_persistence_store(...) or "
                "manager.set_incremental_persistence_store(...) first"
            )
        return found
