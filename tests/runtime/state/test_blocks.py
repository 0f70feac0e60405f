"""Snapshots in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from siddhi import SiddhiAppRuntime
from siddhi.errors import CannotRestoreStateError, DamagedSnapshotError
from tests.kit.running import collect, running

APP = (
    "@app:name('pieces') @app:playback define stream S (k long, v double);"
    "@info(name = 'q') from S select k, sum(v) as total group by k insert into O;"
)


def fill(runtime: SiddhiAppRuntime, n: int = 50_000) -> None:
    rng = np.random.default_rng(7)
    runtime.input_handler("S").send_batch({"k": np.arange(n), "v": rng.random(n)}, timestamp=np.arange(n) + 1)


def stored(kept: dict[bytes, bytes], pieces: dict[bytes, bytes | None]) -> dict[bytes, bytes]:
    """What a store holds that wrote the pieces into what it held."""
    kept = kept | {name: piece for name, piece in pieces.items() if piece is not None}
    return {name: piece for name, piece in kept.items() if pieces.get(name, b"") is not None}


def test_a_small_state_is_one_block() -> None:
    with running(APP) as first, running(APP) as second:
        first.input_handler("S").send((1, 2.0), 10)
        pieces = first.snapshot_pieces()
        assert list(pieces) == [b""]
        second.restore_pieces(stored({}, pieces))
        totals = collect(second, "O")
        second.input_handler("S").send((1, 3.0), 11)
        assert totals == [(1, 5.0)]


def test_only_changed_blocks_of_a_large_state_are_returned() -> None:
    with running(APP) as first, running(APP) as second:
        fill(first)
        whole = first.snapshot_pieces()
        size = sum(len(piece or b"") for piece in whole.values())
        assert len(whole) > 100
        kept = stored({}, whole)
        for _ in range(3):
            first.input_handler("S").send((123, 5.0), 60_000)
            changed = first.snapshot_pieces(dirty_only=True)
            assert sum(len(piece or b"") for name, piece in changed.items() if name) < size / 20
            kept = stored(kept, changed)
        assert first.snapshot_pieces(dirty_only=True).keys() == {b""}
        second.restore_pieces(kept)
        assert second.snapshot() == first.snapshot()
        assert second.snapshot_pieces(dirty_only=True).keys() == {b""}


def test_unused_blocks_are_named() -> None:
    with running(APP) as runtime:
        empty = runtime.snapshot()
        fill(runtime)
        large = runtime.snapshot_pieces()
        runtime.restore(empty)
        small = runtime.snapshot_pieces(dirty_only=True)
        assert small.keys() == large.keys()
        assert [name for name, piece in small.items() if piece is not None] == [b""]


def broken(pieces: dict[bytes, bytes], name: bytes, piece: bytes | None) -> dict[bytes, bytes]:
    return {key: value for key, value in (pieces | {name: piece or b""}).items() if key != name or piece is not None}


def test_a_missing_or_damaged_block_is_named_and_changes_nothing() -> None:
    with running(APP) as runtime:
        fill(runtime)
        before = runtime.snapshot()
        pieces = stored({}, runtime.snapshot_pieces())
        name = next(name for name in pieces if name)
        wrong: list[tuple[dict[bytes, Any], str]] = [
            (broken(pieces, name, None), f"{name.hex()} of the snapshot is missing"),
            (broken(pieces, name, pieces[name][:-1]), f"{name.hex()} of the snapshot is damaged"),
            (broken(pieces, b"", None), "is missing"),
            (broken(pieces, b"", b"SIDDHI"), "no valid header"),
            (broken(pieces, b"", pieces[b""][:-1] + b"?"), "checksum"),
        ]
        for damaged, message in wrong:
            with pytest.raises(DamagedSnapshotError, match=message):
                runtime.restore_pieces(damaged)
        later = pieces[b""][:8] + b"\x09" + pieces[b""][9:]
        with pytest.raises(CannotRestoreStateError, match="format version 9"):
            runtime.restore_pieces(pieces | {b"": later})
        assert runtime.snapshot() == before
