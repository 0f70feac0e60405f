"""Incremental snapshots: the blocks that no earlier revision contains, and the locations of the other blocks.

A snapshot is cut into blocks at boundaries chosen by its content, so that a block is recognized although events before it
have expired. A revision is the whole snapshot (a base), or a list of locations with the new blocks (an increment):

    magic · version · CRC-32 of the remainder · n revisions · n locations · bytes of the names · names · locations · new blocks

A location is the number of a revision (0: this one), an offset into its bytes and a length. Offsets refer to bases and new
blocks only, so that a state is assembled in one step, whatever the number of increments.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from hashlib import blake2b

from siddhi._core.snapshot.blocks import cuts
from siddhi.errors import CannotRestoreStateError, DamagedSnapshotError

__all__ = ["Increments", "assemble"]

MOST_INCREMENTS = 100
"""After this many increments a base is saved again."""

_MAGIC = b"\x89SIDINC\n"
_VERSION = 1
_HEADER = struct.Struct("<8sII")  # magic, version, CRC-32 of what follows
_COUNTS = struct.Struct("<IIQ")  # revisions, locations, bytes of the names
_LOCATION = struct.Struct("<IQQ")  # revision, offset, length


class Increments:
    """The blocks of one app in the store since its last base."""

    def __init__(self) -> None:
        self._revisions: list[str] = []
        self._locations: dict[bytes, tuple[int, int, int]] = {}
        self._saved = 0

    @property
    def last(self) -> str | None:
        """The last revision that was reduced."""
        return self._revisions[-1] if self._revisions else None

    def reduce(self, snapshot: bytes, revision: str) -> tuple[bytes, str | None]:
        """Reduce a snapshot to what has to be saved; save that before the next snapshot is reduced.

        Returns:
            The bytes to save, and the revision of their base; None: the bytes are a base.
        """
        ends = cuts(snapshot)
        new: list[memoryview] = []
        n_new = 0
        found: list[tuple[int, int, int]] = []
        added: dict[bytes, tuple[int, int, int]] = {}
        number = len(self._revisions)
        view = memoryview(snapshot)
        start = 0
        for end in ends:
            block = view[start:end]
            digest = blake2b(block, digest_size=16).digest()
            location = self._locations.get(digest) or added.get(digest)
            if location is None:
                location = added[digest] = (number, n_new, end - start)
                new.append(block)
                n_new += end - start
            last = found[-1] if found else (-1, 0, 0)
            if last[0] == location[0] and last[1] + last[2] == location[1]:
                found[-1] = (last[0], last[1], last[2] + location[2])
            else:
                found.append(location)
            start = end
        # If the increments are larger than a base, or this one saves little, a base is cheaper to store and to read.
        if (
            not self._revisions
            or number > MOST_INCREMENTS
            or self._saved + n_new > len(snapshot)
            or 2 * n_new > len(snapshot)
        ):
            self._begin(snapshot, ends, revision)
            return snapshot, None
        self._locations.update(added)
        self._revisions.append(revision)
        self._saved += n_new
        return _encode(self._revisions[:-1], found, number, new), self._revisions[0]

    def _begin(self, snapshot: bytes, ends: list[int], revision: str) -> None:
        self._revisions = [revision]
        self._saved = 0
        view = memoryview(snapshot)
        starts = [0, *ends]
        self._locations = {
            blake2b(view[start:end], digest_size=16).digest(): (0, start, end - start)
            for start, end in zip(starts, ends, strict=False)
        }


def _encode(revisions: list[str], locations: list[tuple[int, int, int]], own: int, new: list[memoryview]) -> bytes:
    names = "\0".join(revisions).encode()
    written = bytearray()
    for revision, offset, length in locations:
        written += _LOCATION.pack(0 if revision == own else revision + 1, offset, length)
    body = b"".join((_COUNTS.pack(len(revisions), len(locations), len(names)), names, written, *new))
    return _HEADER.pack(_MAGIC, _VERSION, zlib.crc32(body)) + body


def assemble(saved: bytes, load: Callable[[str], bytes]) -> bytes:
    """Assemble the snapshot of a revision.

    Args:
        saved: bytes of the revision.
        load: returns the bytes of another revision.

    Raises:
        DamagedSnapshotError: a revision that it needs is missing or damaged.
        CannotRestoreStateError: the revision is of an unknown version.
    """
    if saved[: len(_MAGIC)] != _MAGIC:
        return saved
    revisions, locations, own = _decode(saved)
    sources: dict[int, memoryview] = {0: own}
    blocks = []
    for number, offset, length in locations:
        if number > len(revisions):
            raise DamagedSnapshotError("the increment is damaged: it refers to a revision that it does not list")
        if number not in sources:
            sources[number] = _source(revisions[number - 1], load)
        source = sources[number]
        if offset > len(source) or length > len(source) - offset:
            raise DamagedSnapshotError(
                "the increment is damaged: it refers to bytes beyond the end of "
                + (f"revision '{revisions[number - 1]}'" if number else "the increment itself")
            )
        blocks.append(source[offset : offset + length])
    return b"".join(blocks)


def _source(revision: str, load: Callable[[str], bytes]) -> memoryview:
    try:
        saved = load(revision)
    except DamagedSnapshotError:
        raise
    except CannotRestoreStateError as error:
        raise DamagedSnapshotError(
            f"the increment needs revision '{revision}', which can't be read: {error}"
        ) from error
    return _decode(saved)[2] if saved[: len(_MAGIC)] == _MAGIC else memoryview(saved)


def _decode(saved: bytes) -> tuple[list[str], list[tuple[int, int, int]], memoryview]:
    """Return the revisions that an increment needs, its locations, and its own blocks."""
    if len(saved) < _HEADER.size + _COUNTS.size:
        raise DamagedSnapshotError(f"the increment is truncated: it ends after {len(saved)} bytes")
    _, version, checksum = _HEADER.unpack_from(saved)
    if version != _VERSION:
        raise CannotRestoreStateError(
            f"the increment has format version {version}, this engine reads version {_VERSION}"
        )
    body = memoryview(saved)[_HEADER.size :]
    if zlib.crc32(body) != checksum:
        raise DamagedSnapshotError("the increment is damaged: its checksum does not match its content")
    n_revisions, n_locations, n_names = _COUNTS.unpack_from(body)
    end_of_names = _COUNTS.size + n_names
    end_of_locations = end_of_names + n_locations * _LOCATION.size
    if end_of_locations > len(body):
        raise DamagedSnapshotError("the increment is damaged: its list of locations is truncated")
    names = bytes(body[_COUNTS.size : end_of_names]).decode(errors="replace").split("\0")
    if len(names) != n_revisions:
        raise DamagedSnapshotError("the increment is damaged: its list of revisions is incomplete")
    locations = list(_LOCATION.iter_unpack(body[end_of_names:end_of_locations]))
    return names, locations, body[end_of_locations:]
