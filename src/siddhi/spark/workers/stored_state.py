"""The state of one shard in the store: a base, and what has changed since, one value each.

Writing what has changed in one value costs one round trip, however many pieces it is; when the changes outgrow the base, the
base is written anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from siddhi.spark.workers.record_batch import decode, encode
from siddhi.spark.workers.shard import Shard

__all__ = ["StoredState", "base_entry", "pieces_of"]

_FORMAT = 1
_BASE = ""
_HEAD = b""
"""The piece that lists the others, or is the whole of a small state."""


class StoredState:
    """What is in the store, remembered beside the engine that was restored from it.

    Args:
        shard: the engine.
    """

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self._names: set[bytes] = set()
        self._changes: list[str] = []
        self._base_size = 0
        self._grown = 0

    def read(self, number: int, store: Any) -> None:
        """Restore the engine from a map of Spark's state.

        Raises:
            CannotRestoreStateError: the state is damaged, or of another app.
        """
        parts = {name: bytes(blob) for (name,), (_, blob) in store.iterator()}
        pieces = pieces_of(parts)
        for name in sorted(parts):
            if name == _BASE:
                self._base_size = len(parts[name])
            else:
                self._changes.append(name)
                self._grown += len(parts[name])
        self.shard.restore(number, pieces)
        self._names = set(pieces)

    def write(self, store: Any, version: int) -> None:
        """Bring the map up to the engine's state."""
        pieces = self.shard.pieces()
        before, self._names = self._names, set(pieces)
        fresh: dict[bytes, bytes | None] = {n: data for n, data in pieces.items() if n not in before or n == _HEAD}
        size = sum(len(data) for data in fresh.values() if data is not None)
        if not self._base_size or self._grown + size > self._base_size:
            blob = _joined(pieces)
            store.updateValue((_BASE,), (_FORMAT, blob))
            for name in self._changes:
                store.removeKey((name,))
            self._changes, self._base_size, self._grown = [], len(blob), 0
            return
        blob = _joined(fresh | dict.fromkeys(before - pieces.keys()))
        name = f"{version:012}"
        store.updateValue((name,), (_FORMAT, blob))
        self._changes.append(name)
        self._grown += len(blob)


def pieces_of(parts: Mapping[str, bytes]) -> dict[bytes, bytes]:
    """The pieces of a snapshot out of what the store holds: a base, and changes by version."""
    pieces: dict[bytes, bytes] = {}
    for name in sorted(parts):
        rows = decode(parts[name])
        for piece, data in zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True):
            if data is None:
                pieces.pop(piece, None)
            else:
                pieces[piece] = data
    return pieces


def base_entry(pieces: Mapping[bytes, bytes]) -> tuple[tuple[str, int], bytes]:
    """Key and format of a base in the store, and what it holds."""
    return (_BASE, _FORMAT), _joined(pieces)


def _joined(pieces: Mapping[bytes, bytes | None]) -> bytes:
    names = pa.array(list(pieces), pa.binary())
    return encode(
        pa.RecordBatch.from_arrays([names, pa.array(list(pieces.values()), pa.binary())], names=["name", "data"])
    )
