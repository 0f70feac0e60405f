"""Trades for tests of streams, and files of them that come in disorder."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["START", "TYPES", "trades", "write_files"]

START = 1_700_000_000_000
TYPES = pa.schema([("ts", pa.int64()), ("symbol", pa.string()), ("price", pa.float64()), ("n", pa.int32())])


def trades(n: int) -> list[tuple]:
    rng = random.Random(11)
    return [(START + 50 * i, f"S{rng.randrange(20)}", rng.randrange(4000) / 4, i) for i in range(n)]


def write_files(folder: Path, rows: list[tuple], files: int, disorder_ms: int) -> None:
    rng = random.Random(7)
    shuffled = sorted(rows, key=lambda row: row[0] + rng.uniform(0, disorder_ms))
    folder.mkdir(parents=True)
    for number in range(files):
        part = shuffled[number * len(rows) // files : (number + 1) * len(rows) // files]
        columns = [pa.array(values, field.type) for values, field in zip(zip(*part), TYPES)]
        path = folder / f"{number:03}.parquet"
        pq.write_table(pa.Table.from_arrays(columns, schema=TYPES), path)
        os.utime(path, (1_700_000_000 + number,) * 2)  # the source takes files in this order
