"""Persistence store in files: a folder per app, a file per revision."""

from __future__ import annotations

import errno
import logging
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from urllib.parse import quote, unquote

from siddhi.errors import DamagedSnapshotError, PersistenceStoreError
from siddhi.persistence.envelope import begins_whole, open_envelope, put_into_envelope
from siddhi.persistence.revision import longest_revision, missing_revision, revision_order, surplus
from siddhi.persistence.store import PersistenceStore

__all__ = ["FileSystemPersistenceStore"]

logger = logging.getLogger("siddhi")

_WHOLE = ".snapshot"
_INCREMENT = ".increment"
_UNFINISHED = ".tmp"
_ABANDONED_S = 3600
"""Age at which an unfinished file is removed: the process that wrote it has ended."""
_LONGEST_NAME = 255
"""Maximum length of a file name in bytes, on all common file systems."""
_PIECE = 1 << 20
_BROKEN = {errno.EIO, errno.EBADMSG, getattr(errno, "EUCLEAN", errno.EIO)}
"""Errors of a medium that has lost data; after any other error the data may be intact."""


class FileSystemPersistenceStore(PersistenceStore):
    """Saves snapshots as ``folder/<app>/<revision>.snapshot``, increments as ``<revision>.increment``.

    Files are replaced atomically: a file is written under a temporary name, read back and renamed, and file and folder are
    synced when :meth:`save` returns. Each begins with format version, checksum, app and revision; a mismatch is an error
    that names the file.

    A missing folder has no revisions. A folder that exists and can't be read is an error.

    Args:
        folder: created when the first snapshot is saved.
        revisions_to_keep: number of newest whole snapshots of an app to keep, with the increments based on them; older
            revisions are deleted after each save. Truncated or foreign files do not count.

    Raises:
        ValueError: ``folder`` is empty, or ``revisions_to_keep`` is below 1.
        PersistenceStoreError: (methods) the file system returns an error.
    """

    def __init__(self, folder: str | os.PathLike[str], *, revisions_to_keep: int = 3) -> None:
        if revisions_to_keep < 1:
            raise ValueError(f"invalid revisions_to_keep {revisions_to_keep}: expected 1 or more")
        if not os.fspath(folder):
            raise ValueError("invalid folder '': expected a path; '.' is the current folder")
        self._folder = Path(folder)
        self._revisions_to_keep = revisions_to_keep
        self._lock = Lock()

    def refuses(self, app: str) -> str | None:
        """Return why no file can be named after an app of this name; None: one can."""
        return _unfit(app) or _unfit(longest_revision(app), _INCREMENT)

    def save(self, app: str, revision: str, snapshot: bytes, *, base: str | None = None) -> None:
        """Save a snapshot, then delete revisions beyond the newest ``revisions_to_keep``."""
        with self._reached(f"the state of app '{app}' can't be saved"):
            if why := _unfit(app) or _unfit(revision, _INCREMENT):
                raise PersistenceStoreError(f"revision {revision!a:.80} can't be saved: {why}")
            folder = self._folder_of(app)
            _make(folder)
            target, other = (folder / (_file_name(revision) + suffix) for suffix in _suffixes(base))
            _write(target, put_into_envelope(app, revision, snapshot))
            with self._lock:
                other.unlink(missing_ok=True)
                self._clean(app)

    def load(self, app: str, revision: str) -> bytes:
        """Return the snapshot of a revision.

        Raises:
            DamagedSnapshotError: its file is truncated, damaged, or not of this store.
            CannotRestoreStateError: the app has no such revision, or the revision is of an unknown version.
        """
        known = self.revisions(app)
        for suffix in (_WHOLE, _INCREMENT) if revision in known else ():
            file = self._folder_of(app) / (_file_name(revision) + suffix)
            with self._reached(f"revision '{revision}' of app '{app}' can't be read"):
                try:
                    return open_envelope(_read(file), app, revision, f"file '{file}'")
                except FileNotFoundError:
                    continue
        raise missing_revision(app, revision, known)

    def last_revision(self, app: str) -> str | None:
        """Return the newest revision of an app, or None."""
        revisions = self.revisions(app)
        return revisions[-1] if revisions else None

    def revisions(self, app: str) -> list[str]:
        """Return all revisions of an app, oldest first."""
        with self._reached(f"the revisions of app '{app}' can't be listed"):
            return list(self._files(app))

    def clear_all_revisions(self, app: str) -> None:
        """Delete every snapshot of an app."""
        with self._lock, self._reached(f"the states of app '{app}' can't be deleted"):
            files = self._files(app)
            # Newest first: after a crash in between, the remaining revisions do not depend on deleted ones.
            for revision in reversed(files):
                files[revision].unlink(missing_ok=True)
            if files:
                _sync(self._folder_of(app))

    def _folder_of(self, app: str) -> Path:
        return self._folder / _file_name(app)

    def _files(self, app: str) -> dict[str, Path]:
        """Return the files by revision, oldest first."""
        if _unfit(app):
            return {}
        folder = self._folder_of(app)
        names = _names_in(folder)
        found = {}
        for suffix in (_INCREMENT, _WHOLE):
            for name in names:
                revision = unquote(name.removesuffix(suffix))
                # Skip files whose name is not the one that this store would choose.
                if revision and not _is_surrogate(revision) and name == _file_name(revision) + suffix:
                    found[revision] = folder / name
        return {revision: found[revision] for revision in sorted(found, key=revision_order)}

    def _clean(self, app: str) -> None:
        """Delete old revisions, and files of killed processes. The new revision is safe by now, so errors are only logged."""
        files = self._files(app)
        # A damaged file must not count as a revision to keep.
        whole = [found for found, file in files.items() if file.suffix == _WHOLE and _is_ours(file, app, found)]
        folder = self._folder_of(app)
        unfinished = [
            folder / name for name in _names_in(folder) if name.startswith(".") and name.endswith(_UNFINISHED)
        ]
        try:
            for old in surplus(list(files), whole, self._revisions_to_keep):
                if not files[old].is_dir():
                    files[old].unlink(missing_ok=True)
            for file in unfinished:
                _remove_abandoned(file)
        except OSError as error:
            logger.warning("app '%s': older revisions can't be deleted: %s", app, error)

    @contextmanager
    def _reached(self, what: str) -> Iterator[None]:
        """Turn errors of the file system into PersistenceStoreError."""
        try:
            yield
        except PersistenceStoreError:
            raise
        except OSError as error:
            path = self._folder if error.filename is None else error.filename
            refused = PersistenceStoreError(f"{what}: '{path}': {error.strerror or error}")
            refused.errno = error.errno
            raise refused from error


def _suffixes(base: str | None) -> tuple[str, str]:
    """Return the suffix of the file to write, and that of a file of the same revision which it replaces."""
    return (_WHOLE, _INCREMENT) if base is None else (_INCREMENT, _WHOLE)


def _is_ours(file: Path, app: str, revision: str) -> bool:
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return False
        with file.open("rb") as opened:
            return begins_whole(opened, app, revision)
    except OSError:  # unreadable: it does not count, so that others are kept
        return False


def _file_name(text: str) -> str:
    """Quote a text as a file name that is not a path, hidden file or parent folder on any file system."""
    return quote(text, safe=" ").replace(".", "%2E")


def _is_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _unfit(text: str, suffix: str = "") -> str | None:
    """Return why no file can be named after a text; None: one can."""
    if _is_surrogate(text):
        return "its name contains an unpaired surrogate"
    length = len(_file_name(text)) + len(suffix)
    if length > _LONGEST_NAME:
        return f"its file name needs {length} bytes, file systems allow {_LONGEST_NAME}"
    return None


def _names_in(folder: Path) -> list[str]:
    """Return the names in a folder; none if it does not exist."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries]
    except FileNotFoundError:
        for path in (folder, *folder.parents):
            if path.is_symlink() and not path.exists():
                raise  # a dangling link: the folder may be on a file system that is not mounted
        return []


def _read(file: Path) -> bytes:
    """Return the content of a file.

    Raises:
        DamagedSnapshotError: the path is not a file, or the medium has lost its data.
        OSError: the file does not exist, or can't be read now.
    """
    mode = file.stat().st_mode
    if not stat.S_ISREG(mode):
        raise DamagedSnapshotError(f"file '{file}' is {'a folder' if stat.S_ISDIR(mode) else 'not a file'}")
    try:
        return file.read_bytes()
    except OSError as error:
        if error.errno not in _BROKEN:
            raise
        raise DamagedSnapshotError(f"file '{file}' can't be read: {error.strerror}") from error


def _write(target: Path, content: bytes) -> None:
    """Write a file, check that it reads back, and sync it to the disk."""
    # Written under a temporary name and renamed: a crash leaves the old file or the new one, never a partial one.
    descriptor, unfinished = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=_UNFINISHED)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not _holds(Path(unfinished), content):
            raise PersistenceStoreError(f"file '{target}' does not read back as written; no revision was deleted")
        Path(unfinished).replace(target)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise
    _sync(target.parent)


def _holds(file: Path, content: bytes) -> bool:
    view = memoryview(content)
    with file.open("rb") as opened:
        same = all(opened.read(_PIECE) == view[at : at + _PIECE] for at in range(0, len(content), _PIECE))
        return same and not opened.read(1)


def _make(folder: Path) -> None:
    """Create a folder and its parents, and sync them to the disk."""
    missing = [folder, *folder.parents]
    missing = missing[: next((index for index, path in enumerate(missing) if path.exists()), len(missing))]
    folder.mkdir(parents=True, exist_ok=True)
    for made in missing:
        _sync(made.parent)


def _sync(folder: Path) -> None:
    """Sync the entries of a folder to the disk."""
    if os.name == "nt":
        return  # Windows can't open folders; renaming a file is enough there
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
