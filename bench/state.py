"""Cost of state: ``python bench/state.py``.

- *snapshot*, *restore*: seconds for a length window of a million events, the best of R rounds, and the size of the snapshot
  relative to the typed data: eight bytes of timestamp per event, and its columns in Arrow's format;
- *increment*: bytes saved after a thousand more events, and the seconds for saving them in memory;
- *idle key*: memory of the process per partition key with a length window of one event, for a million keys.

Exit code 1 if a snapshot or a restore takes a second, a snapshot is a tenth larger than the data, or a million keys need
more than 2 GB.
"""

from __future__ import annotations

import argparse
import gc
import mmap
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.persistence import InMemoryPersistenceStore

START_MS = 1_700_000_000_000
WINDOW = """@app:name('State') @app:playback
define stream S (symbol string, price double, volume long, n int, b bool);
@info(name = 'q') from S#window.length({n}) select symbol, price, volume, n, b insert all events into O;
"""
KEYS = """@app:playback
define stream S (k long, v double);
partition with (k of S) begin from S#window.length(10) select k, avg(v) as mean, max(v) as most insert into O; end;
"""


def trades(n: int, start: int, symbols: str) -> pa.Table:
    random = np.random.default_rng(start)
    picked = random.integers(0, 1000 if symbols == "few" else 1 << 60, n)
    return pa.table(
        {
            "symbol": [f"SYM{i:04d}" for i in picked],
            "price": random.random(n),
            "volume": random.integers(0, 1 << 40, n),
            "n": random.integers(0, 1 << 30, n).astype(np.int32),
            "b": random.integers(0, 2, n).astype(bool),
            "ts": np.arange(start, start + n) + START_MS,
        }
    )


def resident() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE


def timed(work: object) -> float:
    start = perf_counter()
    work()  # type: ignore[operator]
    return perf_counter() - start


def window(n: int, rounds: int, symbols: str) -> bool:
    manager = SiddhiManager()
    manager.set_incremental_persistence_store(InMemoryPersistenceStore())
    with manager.create_siddhi_app_runtime(WINDOW.format(n=n)) as runtime:
        table = trades(n, 0, symbols)
        runtime.input_handler("S").send_batch(table, timestamp="ts")
        state = runtime.snapshot()
        take = min(timed(runtime.snapshot) for _ in range(rounds))
        restored = min(timed(lambda: elsewhere(state, n)) for _ in range(rounds))
        larger = len(state) / table.nbytes
        print(f"snapshot of {n:,} events, {symbols} symbols: {take:.3f} s, {len(state):,} bytes,")
        print(f"  {larger:.2f} times the typed data ({table.nbytes:,} bytes); restore {restored:.3f} s")
        increments(runtime, n, symbols)
    manager.shutdown()
    return take < 1 and restored < 1 and larger <= 1.1


def elsewhere(state: bytes, n: int) -> None:
    """Measure creating an app and restoring a snapshot into it."""
    with SiddhiManager().create_siddhi_app_runtime(WINDOW.format(n=n)) as runtime:
        runtime.restore(state)


def increments(runtime: SiddhiAppRuntime, n: int, symbols: str) -> None:
    store = InMemoryPersistenceStore()
    manager = SiddhiManager()
    manager.set_incremental_persistence_store(store)
    with manager.create_siddhi_app_runtime(WINDOW.format(n=n)) as other:
        other.restore(runtime.snapshot())
        base = timed(other.persist)
        other.input_handler("S").send_batch(trades(1000, n, symbols), timestamp="ts")
        second = timed(other.persist)
        size = len(store.load("State", store.revisions("State")[-1]))
        print(f"  increment after 1,000 more: {size:,} bytes in {second:.3f} s (base: {base:.3f} s)")


def keys(n: int) -> bool:
    with SiddhiManager().create_siddhi_app_runtime(KEYS) as runtime:
        before = resident()
        for start in range(0, n, 100_000):
            runtime.input_handler("S").send_batch(
                pa.table({"k": np.arange(start, start + 100_000), "v": np.ones(100_000)})
            )
        each = (resident() - before) / n
        print(f"idle key: {each:.0f} bytes, {n:,} keys {each * n / 1e9:.2f} GB")
        state = runtime.snapshot()
        print(f"  snapshot of them: {len(state):,} bytes in {timed(runtime.snapshot):.2f} s")
        return each * n < 2e9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    good = [window(given.events, given.rounds, symbols) for symbols in ("few", "many")]
    good.append(keys(given.keys))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
