"""The state of one shard in Spark's state store: a base snapshot and the changes since, one value each.

All changed blocks are written as one value, so a write costs one round trip. When the changes outgrow the base, a new base
is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from siddhi.spark.workers.record_batch import decode, encode
from siddhi.spark.workers.shard import Shard

__all__ = ["StoredState", "base_entry", "blocks_of"]

_FORMAT = 1
_BASE = ""
_INDEX_BLOCK = b""
"""Name of the block that lists the others, or is the whole of a small state."""


class StoredState:
    """An engine and what the store has of its state.

    Args:
        shard: the engine.
    """

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self._names: set[bytes] = set()
        self._changes: list[str] = []
        self._base_size = 0
        self._changes_size = 0

    def read(self, number: int, store: Any) -> None:
        """Restore the engine from a map of Spark's state.

        Raises:
            CannotRestoreStateError: the state is damaged, or that of another app.
        """
        parts = {name: bytes(blob) for (name,), (_, blob) in store.iterator()}
        blocks = blocks_of(parts)
        for name in sorted(parts):
            if name == _BASE:
                self._base_size = len(parts[name])
            else:
                self._changes.append(name)
                self._changes_size += len(parts[name])
        self.shard.restore(number, blocks)
        self._names = set(blocks)

    def write(self, store: Any, version: int) -> None:
        """Write what has changed in the engine since the last write."""
        blocks = self.shard.blocks()
        before, self._names = self._names, set(blocks)
        new: dict[bytes, bytes | None] = {n: data for n, data in blocks.items() if n not in before or n == _INDEX_BLOCK}
        size = sum(len(data) for data in new.values() if data is not None)
        if not self._base_size or self._changes_size + size > self._base_size:
            blob = _encoded(blocks)
            store.updateValue((_BASE,), (_FORMAT, blob))
            for name in self._changes:
                store.removeKey((name,))
            self._changes, self._base_size, self._changes_size = [], len(blob), 0
            return
        blob = _encoded(new | dict.fromkeys(before - blocks.keys()))
        name = f"{version:012}"
        store.updateValue((name,), (_FORMAT, blob))
        self._changes.append(name)
        self._changes_size += len(blob)


def blocks_of(parts: Mapping[str, bytes]) -> dict[bytes, bytes]:
    """Return the snapshot blocks from the values of the store: a base, and changes by version."""
    blocks: dict[bytes, bytes] = {}
    for name in sorted(parts):
        rows = decode(parts[name])
        for block, data in zip(rows.column(0).to_pylist(), rows.column(1).to_pylist(), strict=True):
            if data is None:
                blocks.pop(block, None)
            else:
                blocks[block] = data
    return blocks


def base_entry(blocks: Mapping[bytes, bytes]) -> tuple[str, tuple[int, bytes]]:
    """Return the key and the value of a base in the store."""
    return _BASE, (_FORMAT, _encoded(blocks))


def _encoded(blocks: Mapping[bytes, bytes | None]) -> bytes:
    columns = [pa.array(list(blocks), pa.binary()), pa.array(list(blocks.values()), pa.binary())]
    return encode(pa.RecordBatch.from_arrays(columns, names=["name", "data"]))
