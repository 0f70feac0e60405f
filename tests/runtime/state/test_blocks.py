"""Snapshots in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from siddhi import SiddhiAppRuntime
from siddhi.errors import CannotRestoreStateError, DamagedSnapshotError
from tests.kit.running import collect, running

APP = (
    "@app:name('blocks') @app:playback define stream S (k long, v double);"
    "@info(name = 'q') from S select k, sum(v) as total group by k insert into O;"
)


def fill(runtime: SiddhiAppRuntime, n: int = 50_000) -> None:
    rng = np.random.default_rng(7)
    runtime.input_handler("S").send_batch({"k": np.arange(n), "v": rng.random(n)}, timestamp=np.arange(n) + 1)


def stored(kept: dict[bytes, bytes], blocks: dict[bytes, bytes | None]) -> dict[bytes, bytes]:
    """What a store holds that wrote the blocks into what it held."""
    kept = kept | {name: block for name, block in blocks.items() if block is not None}
    return {name: block for name, block in kept.items() if blocks.get(name, b"") is not None}


def test_a_small_state_is_one_block() -> None:
    with running(APP) as first, running(APP) as second:
        first.input_handler("S").send((1, 2.0), 10)
        blocks = first.snapshot_blocks()
        assert list(blocks) == [b""]
        second.restore_blocks(stored({}, blocks))
        totals = collect(second, "O")
        second.input_handler("S").send((1, 3.0), 11)
        assert totals == [(1, 5.0)]


def test_only_changed_blocks_of_a_large_state_are_returned() -> None:
    with running(APP) as first, running(APP) as second:
        fill(first)
        whole = first.snapshot_blocks()
        size = sum(len(block or b"") for block in whole.values())
        assert len(whole) > 100
        kept = stored({}, whole)
        for _ in range(3):
            first.input_handler("S").send((123, 5.0), 60_000)
            changed = first.snapshot_blocks(dirty_only=True)
            assert sum(len(block or b"") for name, block in changed.items() if name) < size / 20
            kept = stored(kept, changed)
        assert first.snapshot_blocks(dirty_only=True).keys() == {b""}
        second.restore_blocks(kept)
        assert second.snapshot() == first.snapshot()
        assert second.snapshot_blocks(dirty_only=True).keys() == {b""}


def test_unused_blocks_are_named() -> None:
    with running(APP) as runtime:
        empty = runtime.snapshot()
        fill(runtime)
        large = runtime.snapshot_blocks()
        runtime.restore(empty)
        small = runtime.snapshot_blocks(dirty_only=True)
        assert small.keys() == large.keys()
        assert [name for name, block in small.items() if block is not None] == [b""]


def broken(blocks: dict[bytes, bytes], name: bytes, block: bytes | None) -> dict[bytes, bytes]:
    return {key: value for key, value in (blocks | {name: block or b""}).items() if key != name or block is not None}


def test_a_missing_or_damaged_block_is_named_and_changes_nothing() -> None:
    with running(APP) as runtime:
        fill(runtime)
        before = runtime.snapshot()
        blocks = stored({}, runtime.snapshot_blocks())
        name = next(name for name in blocks if name)
        wrong: list[tuple[dict[bytes, Any], str]] = [
            (broken(blocks, name, None), f"{name.hex()} of the snapshot is missing"),
            (broken(blocks, name, blocks[name][:-1]), f"{name.hex()} of the snapshot is damaged"),
            (broken(blocks, b"", None), "is missing"),
            (broken(blocks, b"", b"SIDDHI"), "no valid header"),
            (broken(blocks, b"", blocks[b""][:-1] + b"?"), "checksum"),
        ]
        for damaged, message in wrong:
            with pytest.raises(DamagedSnapshotError, match=message):
                runtime.restore_blocks(damaged)
        later = blocks[b""][:8] + b"\x09" + blocks[b""][9:]
        with pytest.raises(CannotRestoreStateError, match="format version 9"):
            runtime.restore_blocks(blocks | {b"": later})
        assert runtime.snapshot() == before
