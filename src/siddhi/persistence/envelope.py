"""File format of a revision: header with format version, checksum, app and revision, followed by the snapshot."""

from __future__ import annotations

import struct
from hashlib import blake2b
from io import SEEK_END
from typing import BinaryIO

from siddhi.errors import CannotRestoreStateError, DamagedSnapshotError

__all__ = ["begins_whole", "checksum_of", "open_envelope", "put_into_envelope"]

_MAGIC = b"\x89SIDREV\n"
_VERSION = 1
_CHECKSUM_BYTES = 16
_HEADER = struct.Struct(f"<8sI{_CHECKSUM_BYTES}s")  # magic, version, checksum of what follows
_SIZES = struct.Struct("<HHQ")  # bytes of the app's name, of the revision's, of the snapshot


def checksum_of(*parts: bytes | memoryview) -> bytes:
    """Return the checksum of bytes passed in parts."""
    digest = blake2b(digest_size=_CHECKSUM_BYTES)
    for part in parts:
        digest.update(part)
    return digest.digest()


def put_into_envelope(app: str, revision: str, snapshot: bytes) -> bytes:
    """Return a snapshot with its header, which :func:`open_envelope` checks."""
    owner, name = app.encode(), revision.encode()
    described = _SIZES.pack(len(owner), len(name), len(snapshot)) + owner + name
    return b"".join((_HEADER.pack(_MAGIC, _VERSION, checksum_of(described, snapshot)), described, snapshot))


def open_envelope(data: bytes, app: str, revision: str, location: str) -> bytes:
    """Check the header of a revision and return its snapshot.

    Args:
        data: the bytes of the file.
        app: name of the app.
        revision: the revision.
        location: location of the file, for messages.

    Raises:
        DamagedSnapshotError: the file is not a revision, is truncated or changed, or belongs to another revision.
        CannotRestoreStateError: the file is of another format version.
    """
    if not data or data[: len(_MAGIC)] != _MAGIC[: len(data)]:
        raise DamagedSnapshotError(f"{location} is not a snapshot: it has no valid header")
    if len(data) < _HEADER.size + _SIZES.size:
        raise DamagedSnapshotError(f"{location} is truncated: it ends after {len(data)} bytes")
    _, version, checksum = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise CannotRestoreStateError(f"{location} has format version {version}, this engine reads version {_VERSION}")
    n_owner, n_name, n_snapshot = _SIZES.unpack_from(data, _HEADER.size)
    size = _HEADER.size + _SIZES.size + n_owner + n_name + n_snapshot
    if len(data) != size:
        raise DamagedSnapshotError(f"{location} is truncated or damaged: expected {size} bytes, found {len(data)}")
    body = memoryview(data)[_HEADER.size :]
    if checksum_of(body) != checksum:
        raise DamagedSnapshotError(f"{location} is damaged: its checksum does not match its content")
    said = bytes(body[_SIZES.size : size - _HEADER.size - n_snapshot])
    if (said[:n_owner], said[n_owner:]) != (app.encode(), revision.encode()):
        found = (
            f"revision '{said[n_owner:].decode(errors='replace')}' of app '{said[:n_owner].decode(errors='replace')}'"
        )
        raise DamagedSnapshotError(f"{location} contains {found} instead")
    return data[size - n_snapshot :]


def begins_whole(file: BinaryIO, app: str, revision: str) -> bool:
    """Return whether a file has a header of this revision, of any version, and the size stated there; do not read the rest."""
    owner, name = app.encode(), revision.encode()
    head = file.read(_HEADER.size + _SIZES.size + len(owner) + len(name))
    if head[: len(_MAGIC)] != _MAGIC:
        return False
    if len(head) >= _HEADER.size and _HEADER.unpack_from(head)[1] != _VERSION:
        return True
    if len(head) < _HEADER.size + _SIZES.size:
        return False
    n_owner, n_name, n_snapshot = _SIZES.unpack_from(head, _HEADER.size)
    return (
        (n_owner, n_name) == (len(owner), len(name))
        and head[_HEADER.size + _SIZES.size :] == owner + name
        and file.seek(0, SEEK_END) == len(head) + n_snapshot
    )
