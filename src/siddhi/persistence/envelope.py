"""What stands around a snapshot in a file: whose it is, of which format, and a checksum over all of it."""

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
    """The checksum of bytes, given in parts."""
    digest = blake2b(digest_size=_CHECKSUM_BYTES)
    for part in parts:
        digest.update(part)
    return digest.digest()


def put_into_envelope(app: str, revision: str, snapshot: bytes) -> bytes:
    """A snapshot with what :func:`open_envelope` checks in front of it."""
    owner, name = app.encode(), revision.encode()
    described = _SIZES.pack(len(owner), len(name), len(snapshot)) + owner + name
    return b"".join((_HEADER.pack(_MAGIC, _VERSION, checksum_of(described, snapshot)), described, snapshot))


def open_envelope(data: bytes, app: str, revision: str, place: str) -> bytes:
    """The snapshot of an envelope.

    Args:
        data: the envelope.
        app: whose it must be.
        revision: which it must be.
        place: where it was found, for messages.

    Raises:
        DamagedSnapshotError: it is none, not whole, not as it was written, or another one.
        CannotRestoreStateError: it is of another version.
    """
    if not data or data[: len(_MAGIC)] != _MAGIC[: len(data)]:
        raise DamagedSnapshotError(f"{place} is not a snapshot: it does not begin as one")
    if len(data) < _HEADER.size + _SIZES.size:
        raise DamagedSnapshotError(f"{place} is torn: it ends after {len(data)} bytes")
    _, version, checksum = _HEADER.unpack_from(data)
    if version != _VERSION:
        raise CannotRestoreStateError(f"{place} has format version {version}, this engine reads version {_VERSION}")
    n_owner, n_name, n_snapshot = _SIZES.unpack_from(data, _HEADER.size)
    size = _HEADER.size + _SIZES.size + n_owner + n_name + n_snapshot
    if len(data) != size:
        raise DamagedSnapshotError(f"{place} is torn or damaged: it should have {size} bytes and has {len(data)}")
    body = memoryview(data)[_HEADER.size :]
    if checksum_of(body) != checksum:
        raise DamagedSnapshotError(f"{place} is damaged: its checksum does not fit its content")
    said = bytes(body[_SIZES.size : size - _HEADER.size - n_snapshot])
    if (said[:n_owner], said[n_owner:]) != (app.encode(), revision.encode()):
        found = (
            f"revision '{said[n_owner:].decode(errors='replace')}' of app '{said[:n_owner].decode(errors='replace')}'"
        )
        raise DamagedSnapshotError(f"{place} is another one: it holds {found}")
    return data[size - n_snapshot :]


def begins_whole(file: BinaryIO, app: str, revision: str) -> bool:
    """Whether a file seems to be the envelope of a revision, of any version: it begins as one, and has as many bytes as it
    says. What is in it is not looked at.
    """
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
