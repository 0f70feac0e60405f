"""Spark's ``xxhash64`` (XXH64 with seed 42) in Python, for keys that are known without rows."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["shard_of_key"]

_SEED = 42
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MASK = (1 << 64) - 1


def shard_of_key(texts: Iterable[str | None], shards: int) -> int:
    """Return the shard of a key.

    Args:
        texts: parts of the key as text; None: null.
        shards: number of shards.
    """
    found = _SEED
    for text in texts:
        if text is not None:
            found = _xxh64(text.encode(), found)
    signed = found - (1 << 64) if found >> 63 else found
    return signed % shards


def _rotated(value: int, by: int) -> int:
    return ((value << by) | (value >> (64 - by))) & _MASK


def _round(accumulated: int, word: int) -> int:
    return _rotated((accumulated + word * _P2) & _MASK, 31) * _P1 & _MASK


def _xxh64(data: bytes, seed: int) -> int:
    size, at = len(data), 0
    if size >= 32:
        lanes = [(seed + _P1 + _P2) & _MASK, (seed + _P2) & _MASK, seed, (seed - _P1) & _MASK]
        while at + 32 <= size:
            for n in range(4):
                lanes[n] = _round(lanes[n], _word(data, at + 8 * n, 8))
            at += 32
        value = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            value = ((value ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        value = (seed + _P5) & _MASK
    value = (value + size) & _MASK
    while at + 8 <= size:
        value = (_rotated(value ^ _round(0, _word(data, at, 8)), 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= size:
        value = (_rotated(value ^ (_word(data, at, 4) * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        value = _rotated(value ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    value = (value ^ (value >> 33)) * _P2 & _MASK
    value = (value ^ (value >> 29)) * _P3 & _MASK
    return value ^ (value >> 32)


def _word(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(data[at : at + size], "little")
