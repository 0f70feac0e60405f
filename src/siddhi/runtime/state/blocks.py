"""A snapshot in blocks for stores of many small values; most blocks recur in the next snapshot.

A large snapshot is cut at boundaries chosen by its content, and the name of each block is a hash of its bytes; block
``b""`` lists the names in order. A small snapshot is one block: storing it again costs less than many blocks.

    magic · version · CRC-32 of the remainder · n blocks · their names or, if n is 0, the snapshot
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from hashlib import blake2b

from siddhi._core.snapshot.blocks import cuts
from siddhi.errors import CannotRestoreStateError, DamagedSnapshotError

__all__ = ["SnapshotBlocks", "join_blocks"]

SMALL = 256 * 1024
"""Bytes below which a snapshot is not cut."""

_MAGIC = b"\x89SIDPCS\n"
_VERSION = 1
_HEADER = struct.Struct("<8sII")  # magic, version, CRC-32 of what follows
_COUNT = struct.Struct("<I")
_NAME = 16


class SnapshotBlocks:
    """Cuts the snapshots of one app into blocks, and remembers the blocks of the last one."""

    def __init__(self) -> None:
        self._known: set[bytes] = set()

    def cut(self, snapshot: bytes, *, dirty_only: bool) -> dict[bytes, bytes | None]:
        """Return the blocks of a snapshot by name.

        With ``dirty_only`` return the blocks that are new since the last snapshot or restore, and None for the names of
        those that are no longer needed.
        """
        blocks: dict[bytes, bytes] = {}
        names = []
        if len(snapshot) >= SMALL:
            start = 0
            for end in cuts(snapshot):
                block = snapshot[start:end]
                name = blake2b(block, digest_size=_NAME).digest()
                blocks[name] = block
                names.append(name)
                start = end
        body = _COUNT.pack(len(names)) + (b"".join(names) if names else snapshot)
        found: dict[bytes, bytes | None] = {b"": _HEADER.pack(_MAGIC, _VERSION, zlib.crc32(body)) + body}
        if dirty_only:
            found |= {name: block for name, block in blocks.items() if name not in self._known}
            found |= dict.fromkeys(self._known - blocks.keys())
        else:
            found |= blocks
        self._known = set(blocks)
        return found

    def set_baseline(self, blocks: Mapping[bytes, bytes]) -> None:
        """Compare the next snapshot with these blocks, from which the state was restored."""
        self._known = {name for name in blocks if name}


def join_blocks(blocks: Mapping[bytes, bytes]) -> bytes:
    """Join the blocks of a snapshot; additional blocks are ignored.

    Raises:
        DamagedSnapshotError: a block is missing or damaged; the message names it.
        CannotRestoreStateError: the blocks are of an unknown version.
    """
    if b"" not in blocks:
        raise DamagedSnapshotError("the first block of the snapshot, b'', is missing")
    head = blocks[b""]
    if len(head) < _HEADER.size + _COUNT.size or head[: len(_MAGIC)] != _MAGIC:
        raise DamagedSnapshotError("the first block of the snapshot, b'', is damaged: it has no valid header")
    _, version, checksum = _HEADER.unpack_from(head)
    if version != _VERSION:
        raise CannotRestoreStateError(
            f"the blocks of a snapshot have format version {version}, this engine reads version {_VERSION}"
        )
    body = head[_HEADER.size :]
    if zlib.crc32(body) != checksum:
        raise DamagedSnapshotError(
            "the first block of the snapshot, b'', is damaged: its checksum does not match its content"
        )
    (count,) = _COUNT.unpack_from(body)
    if not count:
        return body[_COUNT.size :]
    if len(body) != _COUNT.size + count * _NAME:
        raise DamagedSnapshotError("the first block of the snapshot, b'', is damaged: its number of names is wrong")
    names = [body[start : start + _NAME] for start in range(_COUNT.size, len(body), _NAME)]
    for name in names:
        if name not in blocks:
            raise DamagedSnapshotError(f"block {name.hex()} of the snapshot is missing")
        if blake2b(blocks[name], digest_size=_NAME).digest() != name:
            raise DamagedSnapshotError(f"block {name.hex()} of the snapshot is damaged")
    return b"".join([blocks[name] for name in names])
