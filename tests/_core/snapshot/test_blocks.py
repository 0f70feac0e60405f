from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.snapshot.blocks import cuts


def blocks(data: bytes) -> list[bytes]:
    ends = cuts(data)
    return [data[start:end] for start, end in zip([0, *ends], ends)]


@given(seed=st.integers(0, 1000), length=st.integers(0, 100_000))
def test_the_blocks_joined_are_the_whole(seed: int, length: int) -> None:
    found = blocks(random.Random(seed).randbytes(length))
    assert b"".join(found) == random.Random(seed).randbytes(length)
    assert all(1 << 8 <= len(block) <= 1 << 12 for block in found[:-1])


@given(seed=st.integers(0, 1000), place=st.integers(0, 200_000), change=st.binary(max_size=50), gone=st.integers(0, 50))
def test_a_change_affects_only_the_blocks_near_it(seed: int, place: int, change: bytes, gone: int) -> None:
    data = random.Random(seed).randbytes(200_000)
    changed = data[:place] + change + data[place + gone :]
    assert len(set(blocks(changed)) - set(blocks(data))) <= 6


def test_uniform_data_are_cut_into_blocks() -> None:
    assert set(blocks(bytes(1_000_000))) <= {bytes(1 << 12), bytes(1_000_000 % (1 << 12))}
    assert cuts(b"") == []
