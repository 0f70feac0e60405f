"""Millions of events, and memory stays where it was."""

from __future__ import annotations

import ctypes
import gc
import mmap
import sys
from pathlib import Path

import numpy as np
import pytest

from siddhi._core.record.event import live_events
from tests.kit.running import running

ROWS = 25_000
BATCHES = 32
WARM_UP = 8
SLACK_MB = 8  # what the allocator of the system and the rest of a long test run may keep to themselves: 14 bytes a row

APPS = {
    "filter": "from S[price > 50.0] select symbol, price insert into Out;",
    "length": "from S#window.length(1000) select symbol, avg(price) as mean group by symbol insert into Out;",
    "length_batch": "from S#window.lengthBatch(500) select symbol, sum(volume) as total group by symbol insert into Out;",
    "time": "from S#window.time(2 sec) select symbol, max(price) as high, count() as n insert into Out;",
    "partition": """partition with (symbol of S) begin
                    from S#window.timeBatch(1 sec) select symbol, sum(volume) as total insert into Out; end;""",
}


def resident_mb() -> float:
    """Return the memory in use by this process, after freeing garbage and the spare memory of the C library."""
    gc.collect()
    if hasattr(library := ctypes.CDLL(None), "malloc_trim"):  # musl has none, and keeps less
        library.malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * mmap.PAGESIZE / 2**20


@pytest.mark.soak
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the memory of the process from /proc")
@pytest.mark.parametrize("name", APPS)
def test_memory_stays_flat(name):
    random = np.random.default_rng(7)
    symbols = np.array([f"S{number}" for number in range(50)], dtype=object)
    columns = {
        "symbol": symbols[random.integers(0, 50, ROWS)],
        "price": random.uniform(0.0, 100.0, ROWS),
        "volume": random.integers(0, 1_000, ROWS).astype(np.int32),
    }
    app = f"@app:playback define stream S (symbol string, price double, volume int); {APPS[name]}"
    with running(app) as runtime:
        seen = [0]

        def count(batch):
            seen[0] += len(batch)

        runtime.add_batch_callback("Out", count)
        handler = runtime.input_handler("S")
        levels = []
        alive = []
        for number in range(BATCHES):
            times = 1_000_000 + ROWS * number + np.arange(ROWS)
            handler.send_batch(columns, timestamp=times)
            if number >= WARM_UP:
                levels.append(resident_mb())
                alive.append(live_events())
    assert seen[0] > 0
    assert max(levels) - levels[0] < SLACK_MB
    assert max(alive) - alive[0] < 2_000, "windows hold what they may hold, and no more"
