"""Synthetic trades: the same rows on every machine and in every language.

A 64-bit linear congruential generator starts at ``x = 42`` and steps ``x = x * A + C (mod 2**64)``. Every trade takes three
steps, one per drawn attribute; trade number ``i`` is

======  ======  ====================================================
symbol  string  ``"S" + str((x >> 33) % 100)``
price   double  ``(x >> 11) * 2**-53 * 1000.0``, in [0, 1000)
volume  long    ``(x >> 33) % 10001``
ts      long    ``1_500_000_000_000 + i // 10`` ms, also the event's time
======  ======  ====================================================

``python bench/trades.py 10`` prints the first ten.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_TS_MS = 1_500_000_000_000
TRADES_PER_MS = 10
SYMBOLS = tuple(f"S{i}" for i in range(100))
BATCH_ROWS = 10_000

_SEED = np.uint64(42)
_FACTOR = np.uint64(6364136223846793005)
_INCREMENT = np.uint64(1442695040888963407)

Row = tuple[str, float, int, int]


def _steps(n: int) -> np.ndarray:
    """Return the generator's states 1..n in closed form: ``A**k * x0 + C * (1 + A + ... + A**(k-1))``, all modulo 2**64."""
    powers = np.multiply.accumulate(np.full(n, _FACTOR, dtype=np.uint64))
    geometric = np.ones(n, dtype=np.uint64)
    geometric[1:] += np.add.accumulate(powers[:-1])
    return powers * _SEED + geometric * _INCREMENT


@functools.lru_cache(maxsize=2)
def columns(n: int) -> dict[str, np.ndarray]:
    """Return the first *n* trades as columns; ``symbol`` holds positions in :data:`SYMBOLS` (int32)."""
    draws = _steps(3 * n).reshape(n, 3)
    return {
        "symbol": ((draws[:, 0] >> np.uint64(33)) % np.uint64(len(SYMBOLS))).astype(np.int32),
        "price": (draws[:, 1] >> np.uint64(11)).astype(np.float64) * 2.0**-53 * 1000.0,
        "volume": ((draws[:, 2] >> np.uint64(33)) % np.uint64(10001)).astype(np.int64),
        "ts": FIRST_TS_MS + np.arange(n, dtype=np.int64) // TRADES_PER_MS,
    }


@functools.lru_cache(maxsize=2)
def rows(n: int) -> list[Row]:
    """Return the first *n* trades as ``(symbol, price, volume, ts)`` tuples; the hundred symbols are shared strings."""
    data = columns(n)
    names = map(SYMBOLS.__getitem__, data["symbol"].tolist())
    return list(zip(names, data["price"].tolist(), data["volume"].tolist(), data["ts"].tolist()))


@functools.lru_cache(maxsize=4)
def tables(n: int, every: int = 1, offset: int = 0) -> list[pa.Table]:
    """Return the first *n* trades as tables of :data:`BATCH_ROWS` trades, symbols dictionary-encoded.

    With *every* = 2 a table has only every second trade of its part, starting at *offset*.
    """
    import pyarrow as pa

    data = columns(n)
    dictionary = pa.array(SYMBOLS)
    cuts = []
    for start in range(0, n, BATCH_ROWS):
        part = {
            name: np.ascontiguousarray(column[start : start + BATCH_ROWS][offset::every])
            for name, column in data.items()
        }
        arrays = {name: pa.array(column) for name, column in part.items()}
        arrays["symbol"] = pa.DictionaryArray.from_arrays(arrays["symbol"], dictionary)
        cuts.append(pa.table(arrays))
    return cuts


if __name__ == "__main__":
    for trade in rows(int(sys.argv[1]) if len(sys.argv) > 1 else 10):
        print(*trade)
