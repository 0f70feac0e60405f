"""Snapshots in files: a folder per app, a file per revision."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from threading import Lock
from urllib.parse import quote, unquote

from siddhi.errors import DamagedSnapshotError
from siddhi.persistence.envelope import begins_whole, open_envelope, put_into_envelope
from siddhi.persistence.revision import missing_revision, revision_order, surplus
from siddhi.persistence.store import PersistenceStore

__all__ = ["FileSystemPersistenceStore"]

_WHOLE = ".snapshot"
_INCREMENT = ".increment"
_UNFINISHED = ".tmp"
_ABANDONED_S = 3600
"""A file that nobody finished for so long was being written by a process that is no more."""


class FileSystemPersistenceStore(PersistenceStore):
    """Keeps snapshots as ``folder/<app>/<revision>.snapshot``, increments as ``<revision>.increment``.

    Every file is whole or not there: it is written beside its place, moved there, and file and folder are on the disk when
    :meth:`save` returns. Each begins with format version, checksum, app and revision, and is refused by name where
    something of that does not fit.

    Args:
        folder: made when the first snapshot is saved.
        revisions_to_keep: how many of the newest whole snapshots of an app are kept, with the increments behind them; older
            ones are deleted after each save. Files that are torn, or somebody else's, do not count.

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

    def save(self, app: str, revision: str, snapshot: bytes, *, base: str | None = None) -> None:
        """Keep a snapshot, then delete what is beyond the newest ``revisions_to_keep``."""
        folder = self._folder_of(app)
        _make(folder)
        target, other = (folder / (_file_name(revision) + suffix) for suffix in _suffixes(base))
        # Written beside its place and moved there: a crash leaves the old file or the new one, never half of one.
        descriptor, unfinished = tempfile.mkstemp(dir=folder, prefix=".", suffix=_UNFINISHED)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(put_into_envelope(app, revision, snapshot))
                file.flush()
                os.fsync(file.fileno())
            Path(unfinished).replace(target)
        except BaseException:
            Path(unfinished).unlink(missing_ok=True)
            raise
        _sync(folder)
        with self._lock:
            other.unlink(missing_ok=True)
            files = self._files(app)
            # What nobody can restore takes no place from what can be fallen back on.
            whole = [found for found, file in files.items() if file.suffix == _WHOLE and _is_ours(file, app, found)]
            for old in surplus(list(files), whole, self._revisions_to_keep):
                if not files[old].is_dir():
                    files[old].unlink(missing_ok=True)
            for left in folder.glob(f".*{_UNFINISHED}"):
                _remove_abandoned(left)

    def load(self, app: str, revision: str) -> bytes:
        """The snapshot of a revision.

        Raises:
            DamagedSnapshotError: its file is torn, damaged, or none of this store's.
            CannotRestoreStateError: the app has no such revision, or it is of an unknown version.
        """
        for suffix in (_WHOLE, _INCREMENT):
            file = self._folder_of(app) / (_file_name(revision) + suffix)
            try:
                return open_envelope(file.read_bytes(), app, revision, f"file '{file}'")
            except FileNotFoundError:
                continue
            except (IsADirectoryError, PermissionError) as error:
                if not file.is_dir():  # Windows says of a folder that it is not permitted
                    raise
                raise DamagedSnapshotError(f"file '{file}' is a folder") from error
        raise missing_revision(app, revision, self.revisions(app))

    def last_revision(self, app: str) -> str | None:
        """The newest revision of an app, None where it has none."""
        revisions = self.revisions(app)
        return revisions[-1] if revisions else None

    def revisions(self, app: str) -> list[str]:
        """All revisions of an app that are kept, oldest first."""
        return list(self._files(app))

    def clear_all_revisions(self, app: str) -> None:
        """Delete every snapshot of an app."""
        with self._lock:
            files = self._files(app)
            # The newest first: what is left by a crash in between stands by itself.
            for revision in reversed(files):
                files[revision].unlink(missing_ok=True)
            if files:
                _sync(self._folder_of(app))

    def _folder_of(self, app: str) -> Path:
        return self._folder / _file_name(app)

    def _files(self, app: str) -> dict[str, Path]:
        """The files by revision, oldest first."""
        folder = self._folder_of(app)
        found = {
            unquote(file.name.removesuffix(suffix)): file
            for suffix in (_INCREMENT, _WHOLE)
            for file in folder.glob(f"[!.]*{suffix}")
        }
        return {revision: found[revision] for revision in sorted(found, key=revision_order)}


def _suffixes(base: str | None) -> tuple[str, str]:
    """That of the file to write, and that of a file of the same revision it replaces."""
    return (_WHOLE, _INCREMENT) if base is None else (_INCREMENT, _WHOLE)


def _is_ours(file: Path, app: str, revision: str) -> bool:
    try:
        with file.open("rb") as opened:
            return begins_whole(opened, app, revision)
    except (FileNotFoundError, IsADirectoryError, PermissionError):
        return False


def _file_name(text: str) -> str:
    """Text as a name no file system takes for something else (a path, a hidden file, the parent folder)."""
    return quote(text, safe=" ").replace(".", "%2E")


def _make(folder: Path) -> None:
    """Make a folder and those above it, on the disk."""
    missing = [folder, *folder.parents]
    missing = missing[: next((place for place, found in enumerate(missing) if found.exists()), len(missing))]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        _sync(made.parent)


def _sync(folder: Path) -> None:
    """Have the entries of a folder on the disk."""
    if os.name == "nt":
        return  # folders can't be opened there; moving a file is enough
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_abandoned(file: Path) -> None:
    try:
        if time.time() - file.stat().st_mtime > _ABANDONED_S:
            file.unlink(missing_ok=True)
    except FileNotFoundError:
        pass  # finished meanwhile, or removed by another process
