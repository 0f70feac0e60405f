"""Run millions of events through window apps and measure their memory: ``python bench/soak.py``.

Each app runs in a separate process. Its state reaches its full size in the first tenth of the events. After that, the
resident memory may grow by a few MB at most; otherwise the exit code is 1.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import pathlib
import sys
from collections.abc import Callable
from time import perf_counter

import trades

TRADES = "define stream Trades (symbol string, price double, volume long, ts long);\n"
APPS = {
    "length": "from Trades#window.length(1000) select symbol, avg(price) as ap group by symbol insert into Out;",
    "lengthBatch": "from Trades#window.lengthBatch(1000) select symbol, sum(price) as sp group by symbol insert into Out;",
    "time": "from Trades#window.time(1 sec) select symbol, avg(price) as ap group by symbol insert into Out;",
    "timeBatch": "from Trades#window.timeBatch(1 sec) select symbol, sum(price) as sp group by symbol insert into Out;",
    "externalTime": "from Trades#window.externalTime(ts, 1 sec) select symbol, max(price) as mx insert into Out;",
    "expired": "from Trades#window.length(1000) select symbol, price insert all events into Out;",
    "extremes": "from Trades#window.length(1000) select min(price) as mn, max(price) as mx, stdDev(price) as sd, "
    "distinctCount(symbol) as dc insert into Out;",
    "groups": "from Trades#window.time(1 sec) select volume, count() as n group by volume insert into Out;",
    "newSymbols": "from Trades#window.time(100 milliseconds) select symbol, count() as n group by symbol insert into Out;",
}
"""In ``newSymbols`` every trade has a new symbol, so that groups are created and released."""

CHUNK = 100_000


def send_rows(send: Callable[..., None], number: int, *, new_symbols: bool) -> float:
    """Send the CHUNK trades after the first *number* chunks one by one; return the seconds. No row is kept."""
    base, shift = trades.rows(CHUNK), number * (CHUNK // trades.TRADES_PER_MS)
    start = perf_counter()
    if new_symbols:
        for i, (_, price, volume, ts) in enumerate(base, number * CHUNK):
            ts += shift
            send((f"N{i}", price, volume, ts), timestamp=ts)
    else:
        for symbol, price, volume, ts in base:
            ts += shift
            send((symbol, price, volume, ts), timestamp=ts)
    return perf_counter() - start


def send_table(send_batch: Callable[..., None], number: int, *, new_symbols: bool) -> float:
    """Send the same trades as one table; return the seconds."""
    import pyarrow as pa

    data = trades.columns(CHUNK)
    if new_symbols:
        symbol = pa.array([f"N{i}" for i in range(number * CHUNK, (number + 1) * CHUNK)]).dictionary_encode()
    else:
        symbol = pa.DictionaryArray.from_arrays(data["symbol"], pa.array(trades.SYMBOLS))
    ts = data["ts"] + number * (CHUNK // trades.TRADES_PER_MS)
    table = pa.table({"symbol": symbol, "price": data["price"], "volume": data["volume"], "ts": ts})
    start = perf_counter()
    send_batch(table, timestamp="ts")
    return perf_counter() - start


def resident_mb() -> float:
    """Return the resident memory of this process in MB; its peak if the current value can't be read (not on Windows)."""
    import resource

    try:
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
    return pages * resource.getpagesize() / 2**20


def soak(name: str, n: int, *, batches: bool, steps: int, allowed_mb: float) -> bool:
    """Run one app over *n* trades, print its memory in *steps* steps, and return whether it stayed flat."""
    import siddhi

    count = 0

    def callback(outputs: list[object]) -> None:
        nonlocal count
        count += len(outputs)

    manager = siddhi.SiddhiManager()
    runtime = manager.create_siddhi_app_runtime("@app:playback " + TRADES + APPS[name])
    (runtime.add_batch_callback if batches else runtime.add_callback)("Out", callback)
    runtime.start()
    handler = runtime.input_handler("Trades")
    sizes, seconds, total = [], 0.0, n // CHUNK
    every = max(total // steps, 1)
    for number in range(total):
        new_symbols = name == "newSymbols"
        if batches:
            seconds += send_table(handler.send_batch, number, new_symbols=new_symbols)
        else:
            seconds += send_rows(handler.send, number, new_symbols=new_symbols)
        if (number + 1) % every == 0:
            gc.collect()
            sizes.append(resident_mb())
    manager.shutdown()
    growth = max(sizes[len(sizes) // 10 + 1 :], default=sizes[-1]) - sizes[len(sizes) // 10]
    flat = growth <= allowed_mb
    line = " ".join(f"{size:.1f}" for size in sizes)
    print(f"{name:<14}{total * CHUNK / seconds / 1e6:6.2f} M/s {count:>12,} outputs  MB: {line}", flush=True)
    print(f"{'':<14}grew {growth:+.1f} MB after the first tenth: {'flat' if flat else 'NOT FLAT'}", flush=True)
    return flat


def _alone(name: str, n: int, batches: bool, steps: int, allowed_mb: float) -> None:
    sys.exit(0 if soak(name, n, batches=batches, steps=steps, allowed_mb=allowed_mb) else 1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("apps", nargs="*", metavar="APP", help=f"which apps (default: all): {', '.join(APPS)}")
    parser.add_argument("--events", type=int, default=10_000_000, help="trades per app (default: 10 million)")
    parser.add_argument("--batches", action="store_true", help="send tables instead of single rows")
    parser.add_argument("--steps", type=int, default=10, help="how often the memory is shown (default: 10)")
    parser.add_argument("--allow", type=float, default=4.0, metavar="MB", help="growth that is not a leak (default: 4)")
    options = parser.parse_args()
    unknown = set(options.apps) - set(APPS)
    if unknown:
        parser.error(f"no such app: {', '.join(sorted(unknown))}")
    import siddhi  # noqa: F401  report an import error once

    context = multiprocessing.get_context("spawn")
    bad = []
    for name in options.apps or APPS:
        process = context.Process(
            target=_alone, args=(name, options.events, options.batches, options.steps, options.allow)
        )
        process.start()
        process.join()
        if process.exitcode:
            bad.append(name)
    print(f"not flat or failed: {', '.join(bad)}" if bad else "memory stays flat")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
