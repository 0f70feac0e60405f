"""Snapshots in files: a folder per app, a file per revision."""

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
"""A file that nobody finished for so long was being written by a process that is no more."""
_LONGEST_NAME = 255
"""Bytes of a file's name, on all file systems in use."""
_PIECE = 1 << 20
_BROKEN = {errno.EIO, errno.EBADMSG, getattr(errno, "EUCLEAN", errno.EIO)}
"""What a medium says that has lost what was on it; any other refusal leaves open what is there."""


class FileSystemPersistenceStore(PersistenceStore):
    """Keeps snapshots as ``folder/<app>/<revision>.snapshot``, increments as ``<revision>.increment``.

    Every file is whole or not there: it is written beside its place, read back, moved there, and file and folder are on the
    disk when :meth:`save` returns. Each begins with format version, checksum, app and revision, and is refused by name
    where something of that does not fit.

    A folder that is not there holds no revisions. One that is there and can't be read is an error, and never an empty one.

    Args:
        folder: made when the first snapshot is saved.
        revisions_to_keep: how many of the newest whole snapshots of an app are kept, with the increments behind them; older
            ones are deleted after each save. Files that are torn, or somebody else's, do not count.

    Raises:
        ValueError: ``revisions_to_keep`` is below 1.
        PersistenceStoreError: (methods) the file system refuses.
    """

    def __init__(self, folder: str | os.PathLike[str], *, revisions_to_keep: int = 3) -> None:
        if revisions_to_keep < 1:
            raise ValueError(f"revisions_to_keep must be 1 or more, not {revisions_to_keep}")
        self._folder = Path(folder)
        self._revisions_to_keep = revisions_to_keep
        self._lock = Lock()

    def refuses(self, app: str) -> str | None:
        """Why no file can be named after an app of this name; None: one can."""
        return _unfit(app) or _unfit(longest_revision(app), _INCREMENT)

    def save(self, app: str, revision: str, snapshot: bytes, *, base: str | None = None) -> None:
        """Keep a snapshot, then delete what is beyond the newest ``revisions_to_keep``."""
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
        """The snapshot of a revision.

        Raises:
            DamagedSnapshotError: its file is torn, damaged, or none of this store's.
            CannotRestoreStateError: the app has no such revision, or it is of an unknown version.
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
        """The newest revision of an app, None where it has none."""
        revisions = self.revisions(app)
        return revisions[-1] if revisions else None

    def revisions(self, app: str) -> list[str]:
        """All revisions of an app that are kept, oldest first."""
        with self._reached(f"the revisions of app '{app}' can't be listed"):
            return list(self._files(app))

    def clear_all_revisions(self, app: str) -> None:
        """Delete every snapshot of an app."""
        with self._lock, self._reached(f"the states of app '{app}' can't be deleted"):
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
        if _unfit(app):
            return {}
        folder = self._folder_of(app)
        names = _names_in(folder)
        found = {}
        for suffix in (_INCREMENT, _WHOLE):
            for name in names:
                revision = unquote(name.removesuffix(suffix))
                # What is named otherwise than this store names its files is not found by its revision.
                if revision and not _is_surrogate(revision) and name == _file_name(revision) + suffix:
                    found[revision] = folder / name
        return {revision: found[revision] for revision in sorted(found, key=revision_order)}

    def _clean(self, app: str) -> None:
        """Delete what is beyond the newest revisions, and what killed processes left. The revision is safe by now: what can't
        be deleted is logged.
        """
        files = self._files(app)
        # What nobody can restore takes no place from what can be fallen back on.
        whole = [found for found, file in files.items() if file.suffix == _WHOLE and _is_ours(file, app, found)]
        folder = self._folder_of(app)
        left = [folder / name for name in _names_in(folder) if name.startswith(".") and name.endswith(_UNFINISHED)]
        try:
            for old in surplus(list(files), whole, self._revisions_to_keep):
                if not files[old].is_dir():
                    files[old].unlink(missing_ok=True)
            for file in left:
                _remove_abandoned(file)
        except OSError as error:
            logger.warning("app '%s': older revisions can't be deleted: %s", app, error)

    @contextmanager
    def _reached(self, what: str) -> Iterator[None]:
        """What the file system refuses is an error of the store."""
        try:
            yield
        except PersistenceStoreError:
            raise
        except OSError as error:
            place = self._folder if error.filename is None else error.filename
            refused = PersistenceStoreError(f"{what}: '{place}': {error.strerror or error}")
            refused.errno = error.errno
            raise refused from error


def _suffixes(base: str | None) -> tuple[str, str]:
    """That of the file to write, and that of a file of the same revision it replaces."""
    return (_WHOLE, _INCREMENT) if base is None else (_INCREMENT, _WHOLE)


def _is_ours(file: Path, app: str, revision: str) -> bool:
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return False
        with file.open("rb") as opened:
            return begins_whole(opened, app, revision)
    except OSError:  # it can't be fallen back on, so it counts for none: the others stay
        return False


def _file_name(text: str) -> str:
    """Text as a name no file system takes for something else (a path, a hidden file, the parent folder)."""
    return quote(text, safe=" ").replace(".", "%2E")


def _is_surrogate(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def _unfit(text: str, suffix: str = "") -> str | None:
    """Why no file can be named after a text; None: one can."""
    if _is_surrogate(text):
        return "its name holds half of a character (a surrogate)"
    length = len(_file_name(text)) + len(suffix)
    if length > _LONGEST_NAME:
        return f"a file named after it needs {length} bytes, file systems take {_LONGEST_NAME}"
    return None


def _names_in(folder: Path) -> list[str]:
    """The names of what is in a folder; none where it is not there."""
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries]
    except FileNotFoundError:
        for place in (folder, *folder.parents):
            if place.is_symlink() and not place.exists():
                raise  # it is elsewhere, and that is not there: not mounted, say
        return []


def _read(file: Path) -> bytes:
    """The content of a file.

    Raises:
        DamagedSnapshotError: it is not a file, or the medium has lost it.
        OSError: it is not there, or can't be read now.
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
    """Have a file on the disk, under its name and with its content, as it can be read back."""
    # Written beside its place and moved there: a crash leaves the old file or the new one, never half of one.
    descriptor, unfinished = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=_UNFINISHED)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if not _holds(Path(unfinished), content):
            raise PersistenceStoreError(
                f"file '{target}' is read back otherwise than it was written; no revision is deleted"
            )
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
