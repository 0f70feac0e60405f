"""A snapshot in pieces, of which most are the same the next time: for stores that keep many small values.

A large snapshot is cut where its content says, and each piece is called by a hash of its bytes; piece ``b""`` lists them in
order. A small one is one piece: keeping many costs more than keeping it again.

    magic · version · CRC-32 of the rest · n pieces · their names, or, where n is 0, the snapshot
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from hashlib import blake2b

from siddhi._core.snapshot.blocks import cuts
from siddhi.errors import CannotRestoreStateError, DamagedSnapshotError

__all__ = ["SnapshotPieces", "put_together"]

SMALL = 256 * 1024
"""Bytes below which a snapshot is not cut."""

_MAGIC = b"\x89SIDPCS\n"
_VERSION = 1
_HEADER = struct.Struct("<8sII")  # magic, version, CRC-32 of what follows
_COUNT = struct.Struct("<I")
_NAME = 16


class SnapshotPieces:
    """Cuts the snapshots of one app, and remembers which pieces were given out."""

    def __init__(self) -> None:
        self._given: set[bytes] = set()

    def cut(self, snapshot: bytes, *, dirty_only: bool) -> dict[bytes, bytes | None]:
        """The pieces of a snapshot by name; with ``dirty_only`` those that were not given out, or taken in, last time, and
        None by the names of those that are needed no more."""
        pieces: dict[bytes, bytes] = {}
        names = []
        if len(snapshot) >= SMALL:
            start = 0
            for end in cuts(snapshot):
                piece = snapshot[start:end]
                name = blake2b(piece, digest_size=_NAME).digest()
                pieces[name] = piece
                names.append(name)
                start = end
        body = _COUNT.pack(len(names)) + (b"".join(names) if names else snapshot)
        found: dict[bytes, bytes | None] = {b"": _HEADER.pack(_MAGIC, _VERSION, zlib.crc32(body)) + body}
        if dirty_only:
            found |= {name: piece for name, piece in pieces.items() if name not in self._given}
            found |= dict.fromkeys(self._given - pieces.keys())
        else:
            found |= pieces
        self._given = set(pieces)
        return found

    def taken_in(self, pieces: Mapping[bytes, bytes]) -> None:
        """These are the pieces there are: the next ones are compared with them."""
        self._given = {name for name in pieces if name}


def put_together(pieces: Mapping[bytes, bytes]) -> bytes:
    """The snapshot that was cut into pieces; further pieces may be among them.

    Raises:
        DamagedSnapshotError: one is missing or damaged; the message names it.
        CannotRestoreStateError: they are of an unknown version.
    """
    if b"" not in pieces:
        raise DamagedSnapshotError("the pieces of a snapshot lack the first one, b''")
    head = pieces[b""]
    if len(head) < _HEADER.size + _COUNT.size or head[: len(_MAGIC)] != _MAGIC:
        raise DamagedSnapshotError("the first piece of a snapshot, b'', does not begin as one")
    _, version, checksum = _HEADER.unpack_from(head)
    if version != _VERSION:
        raise CannotRestoreStateError(
            f"the pieces of a snapshot have format version {version}, this engine reads version {_VERSION}"
        )
    body = head[_HEADER.size :]
    if zlib.crc32(body) != checksum:
        raise DamagedSnapshotError(
            "the first piece of a snapshot, b'', is damaged: its checksum does not fit its content"
        )
    (count,) = _COUNT.unpack_from(body)
    if not count:
        return body[_COUNT.size :]
    if len(body) != _COUNT.size + count * _NAME:
        raise DamagedSnapshotError("the first piece of a snapshot, b'', does not name as many pieces as it says")
    names = [body[start : start + _NAME] for start in range(_COUNT.size, len(body), _NAME)]
    for name in names:
        if name not in pieces:
            raise DamagedSnapshotError(f"piece {name.hex()} of the snapshot is missing")
        if blake2b(pieces[name], digest_size=_NAME).digest() != name:
            raise DamagedSnapshotError(f"piece {name.hex()} of the snapshot is damaged")
    return b"".join([pieces[name] for name in names])
