"""State keys: the integers by which Spark knows the shards of a stream, chosen so that Spark spreads them evenly over tasks.

Spark assigns a state key to the task ``murmur3(key) mod tasks``. Murmur3 of an ``int`` is a bijection, so each shard gets the key
whose hash is its number: consecutive shards go to consecutive tasks, for any number of tasks, and no task has more than one shard
of a fragment more than another. Needs no PySpark.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EVEN", "NUMBERS", "StateKeys", "default_tasks", "key_of_hash", "murmur3_int"]

EVEN = "even"
"""Kind of the keys whose hashes are consecutive."""
NUMBERS = "numbers"
"""Kind of the keys that are the numbers of the shards: those of checkpoints of format 2, which Spark spreads unevenly."""

_MASK = (1 << 32) - 1
_SEED = 42
_C1, _C2 = 0xCC9E2D51, 0x1B873593
_ADDED = 0xE6546B64
_F1, _F2 = 0x85EBCA6B, 0xC2B2AE35
_SIZE = 4
_SHARDS_PER_TASK = 16


def default_tasks(shards: int, cores: int) -> int:
    """Return the number of tasks of a stream that is started for the first time: one per 16 shards, or more if there are cores."""
    return max(-(-shards // _SHARDS_PER_TASK), min(cores, shards))


@dataclass(frozen=True, slots=True)
class StateKeys:
    """The state keys of all shards of a checkpoint.

    Attributes:
        kind: ``EVEN`` or ``NUMBERS``.
        shards: number of shards of a fragment; the first shard of a fragment is a multiple of it.
    """

    kind: str
    shards: int

    def key(self, number: int) -> int:
        """Return the state key of the shard with a number."""
        if self.kind == NUMBERS:
            return number
        # One hash is skipped per fragment, so that fragments on one shard do not meet on one task.
        return key_of_hash(number + number // self.shards)

    def number(self, key: int) -> int:
        """Return the number of the shard with a state key."""
        if self.kind == NUMBERS:
            return key
        found = murmur3_int(key)
        return found - found // (self.shards + 1)

    def task(self, number: int, tasks: int) -> int:
        """Return the task that Spark assigns a shard to."""
        return murmur3_int(self.key(number)) % tasks


def murmur3_int(value: int) -> int:
    """Return Spark's ``hash`` of an INT (Murmur3 with seed 42), signed."""
    mixed = _rotated(value * _C1 & _MASK, 15) * _C2 & _MASK
    found = (_rotated(_SEED ^ mixed, 13) * 5 + _ADDED) & _MASK
    found ^= _SIZE
    found = (found ^ found >> 16) * _F1 & _MASK
    found = (found ^ found >> 13) * _F2 & _MASK
    return _signed(found ^ found >> 16)


def key_of_hash(value: int) -> int:
    """Return the INT whose Spark ``hash`` is a value: the inverse of :func:`murmur3_int`."""
    found = value & _MASK
    found = (found ^ found >> 16) * _inverse(_F2) & _MASK
    found = (found ^ found >> 13 ^ found >> 26) * _inverse(_F1) & _MASK
    found = found ^ found >> 16 ^ _SIZE
    mixed = _rotated((found - _ADDED) * _inverse(5) & _MASK, 32 - 13) ^ _SEED
    mixed = mixed * _inverse(_C2) & _MASK
    return _signed(_rotated(mixed, 32 - 15) * _inverse(_C1) & _MASK)


def _inverse(factor: int) -> int:
    return pow(factor, -1, 1 << 32)


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _MASK


def _signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value
