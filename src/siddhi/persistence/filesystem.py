"""Snapshots in files: a folder per app, a file per revision."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from threading import Lock
from urllib.parse import quote, unquote

from siddhi.persistence.revision import missing_revision, revision_order
from siddhi.persistence.store import PersistenceStore

__all__ = ["FileSystemPersistenceStore"]

_SUFFIX = ".snapshot"


class FileSystemPersistenceStore(PersistenceStore):
    """Keeps snapshots under ``folder/<app>/<revision>.snapshot``; every file is whole or not there.

    Args:
        folder: made when the first snapshot is saved.
        revisions_to_keep: how many of the newest snapshots of an app are kept; older ones are deleted after each save.

    Raises:
        ValueError: ``revisions_to_keep`` is below 1.
        OSError: (methods) the file system refuses.
    """

    def __init__(self, folder: str | os.PathLike[str], *, revisions_to_keep: int = 3) -> None:
        if revisions_to_keep < 1:
            raise ValueError(f"revisions_to_keep must be 1 or more, not {revisions_to_keep}")
        self._folder = Path(folder)
        self._revisions_to_keep = revisions_to_keep
        self._lock = Lock()

    def save(self, app: str, revision: str, snapshot: bytes) -> None:
        """Keep a snapshot, then delete what is beyond the newest ``revisions_to_keep``."""
        target = self._file(app, revision)
        target.parent.mkdir(parents=True, exist_ok=True)
        # Written beside its place and moved there: a crash leaves the old file or the new one, never half of one.
        descriptor, unfinished = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(snapshot)
                file.flush()
                os.fsync(file.fileno())
            Path(unfinished).replace(target)
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise
        with self._lock:
            for old in self.revisions(app)[: -self._revisions_to_keep]:
                self._file(app, old).unlink(missing_ok=True)

    def load(self, app: str, revision: str) -> bytes:
        """The snapshot of a revision.

        Raises:
            CannotRestoreStateError: the app has no such revision.
        """
        try:
            return self._file(app, revision).read_bytes()
        except FileNotFoundError as error:
            raise missing_revision(app, revision, self.revisions(app)) from error

    def last_revision(self, app: str) -> str | None:
        """The newest revision of an app, None where it has none."""
        revisions = self.revisions(app)
        return revisions[-1] if revisions else None

    def revisions(self, app: str) -> list[str]:
        """All revisions of an app that are kept, oldest first."""
        files = self._file(app, "").parent.glob(f"*{_SUFFIX}")
        return sorted((unquote(file.name.removesuffix(_SUFFIX)) for file in files), key=revision_order)

    def clear_all_revisions(self, app: str) -> None:
        """Delete every snapshot of an app."""
        with self._lock:
            for revision in self.revisions(app):
                self._file(app, revision).unlink(missing_ok=True)

    def _file(self, app: str, revision: str) -> Path:
        return self._folder / _file_name(app) / (_file_name(revision) + _SUFFIX)


def _file_name(text: str) -> str:
    """Text as a name no file system takes for something else (a path, a hidden file, the parent folder)."""
    return quote(text, safe=" ").replace(".", "%2E")
