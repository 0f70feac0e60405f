"""States in increments: of a snapshot only what no earlier one holds, and where the rest of it is found.

A snapshot is cut into pieces where its content says, so that pieces are found again although events before them have
expired. What a revision saves is the whole snapshot (a base), or a list of places and the pieces that are new:

    magic · version · CRC-32 of the rest · n revisions · n places · bytes of their names · names · places · new pieces

A place is the number of a revision (0: this one), an offset into its bytes and a length. All offsets are into bases and new
pieces, so that a state is put together in one step, however many increments there were.
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
"""Behind so many a base is saved again."""

_MAGIC = b"\x89SIDINC\n"
_VERSION = 1
_HEADER = struct.Struct("<8sII")  # magic, version, CRC-32 of what follows
_COUNTS = struct.Struct("<IIQ")  # revisions, places, bytes of the names
_PLACE = struct.Struct("<IQQ")  # revision, offset, length


class Increments:
    """What the store holds of one app since its last base, to save only what is new."""

    def __init__(self) -> None:
        self._revisions: list[str] = []
        self._places: dict[bytes, tuple[int, int, int]] = {}
        self._saved = 0

    @property
    def last(self) -> str | None:
        """The revision that was reduced last."""
        return self._revisions[-1] if self._revisions else None

    def reduce(self, snapshot: bytes, revision: str) -> tuple[bytes, str | None]:
        """What to save of a snapshot; it has to be saved before the next one is reduced.

        Returns:
            What to save, and the revision of the base it stands on; None: it is a base.
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
            piece = view[start:end]
            digest = blake2b(piece, digest_size=16).digest()
            place = self._places.get(digest) or added.get(digest)
            if place is None:
                place = added[digest] = (number, n_new, end - start)
                new.append(piece)
                n_new += end - start
            last = found[-1] if found else (-1, 0, 0)
            if last[0] == place[0] and last[1] + last[2] == place[1]:
                found[-1] = (last[0], last[1], last[2] + place[2])
            else:
                found.append(place)
            start = end
        # Where increments come to more than a base, or one saves nothing much, a base costs less to keep and to read.
        if (
            not self._revisions
            or number > MOST_INCREMENTS
            or self._saved + n_new > len(snapshot)
            or 2 * n_new > len(snapshot)
        ):
            self._begin(snapshot, ends, revision)
            return snapshot, None
        self._places.update(added)
        self._revisions.append(revision)
        self._saved += n_new
        return _pack(self._revisions[:-1], found, number, new), self._revisions[0]

    def _begin(self, snapshot: bytes, ends: list[int], revision: str) -> None:
        self._revisions = [revision]
        self._saved = 0
        view = memoryview(snapshot)
        starts = [0, *ends]
        self._places = {
            blake2b(view[start:end], digest_size=16).digest(): (0, start, end - start)
            for start, end in zip(starts, ends, strict=False)
        }


def _pack(revisions: list[str], places: list[tuple[int, int, int]], own: int, new: list[memoryview]) -> bytes:
    names = "\0".join(revisions).encode()
    written = bytearray()
    for revision, offset, length in places:
        written += _PLACE.pack(0 if revision == own else revision + 1, offset, length)
    body = b"".join((_COUNTS.pack(len(revisions), len(places), len(names)), names, written, *new))
    return _HEADER.pack(_MAGIC, _VERSION, zlib.crc32(body)) + body


def assemble(saved: bytes, load: Callable[[str], bytes]) -> bytes:
    """The snapshot of a revision.

    Args:
        saved: what was saved for it.
        load: gives what was saved under another revision.

    Raises:
        DamagedSnapshotError: something it is made of is missing or damaged.
        CannotRestoreStateError: it is of an unknown version.
    """
    if saved[: len(_MAGIC)] != _MAGIC:
        return saved
    revisions, places, own = _unpack(saved)
    sources: dict[int, memoryview] = {0: own}
    pieces = []
    for number, offset, length in places:
        if number > len(revisions):
            raise DamagedSnapshotError("an increment is damaged: it is made of a revision it does not name")
        if number not in sources:
            sources[number] = _source(revisions[number - 1], load)
        source = sources[number]
        if offset > len(source) or length > len(source) - offset:
            raise DamagedSnapshotError(
                f"an increment is made of bytes that revision '{revisions[number - 1] if number else ''}' does not have"
            )
        pieces.append(source[offset : offset + length])
    return b"".join(pieces)


def _source(revision: str, load: Callable[[str], bytes]) -> memoryview:
    try:
        saved = load(revision)
    except DamagedSnapshotError:
        raise
    except CannotRestoreStateError as error:
        raise DamagedSnapshotError(f"an increment is made of what revision '{revision}' held: {error}") from error
    return _unpack(saved)[2] if saved[: len(_MAGIC)] == _MAGIC else memoryview(saved)


def _unpack(saved: bytes) -> tuple[list[str], list[tuple[int, int, int]], memoryview]:
    """The revisions an increment is made of, its places, and the pieces that are its own."""
    if len(saved) < _HEADER.size + _COUNTS.size:
        raise DamagedSnapshotError(f"an increment is torn: it ends after {len(saved)} bytes")
    _, version, checksum = _HEADER.unpack_from(saved)
    if version != _VERSION:
        raise CannotRestoreStateError(
            f"an increment has format version {version}, this engine reads version {_VERSION}"
        )
    body = memoryview(saved)[_HEADER.size :]
    if zlib.crc32(body) != checksum:
        raise DamagedSnapshotError("an increment is damaged: its checksum does not fit its content")
    n_revisions, n_places, n_names = _COUNTS.unpack_from(body)
    behind_names = _COUNTS.size + n_names
    behind_places = behind_names + n_places * _PLACE.size
    if behind_places > len(body):
        raise DamagedSnapshotError("an increment is damaged: it ends before its places do")
    names = bytes(body[_COUNTS.size : behind_names]).decode(errors="replace").split("\0")
    if len(names) != n_revisions:
        raise DamagedSnapshotError("an increment is damaged: it does not name the revisions it is made of")
    places = list(_PLACE.iter_unpack(body[behind_names:behind_places]))
    return names, places, body[behind_places:]
