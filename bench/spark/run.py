"""CPU seconds of the whole process tree per million rows, for three plans: ``python bench/spark/run.py``.

Trades with 10,000 keys, from Parquet to Spark's no-op sink, 32 shards, ``local[2]``. Every plan runs once to warm up, then
``--repeat`` times. The minimum is taken, since other load can only add time. Wall time is printed, but has no aim.

The stream reads a file of ``--batch-rows`` rows per micro-batch and runs to its end. The figure includes its start, the
batches with their commits to the checkpoint, the second start for the end of the input, and the output of buffered rows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

LIMITS = {"Catalyst filter": 0.4, "batch fragment": 3.0, "stream": 5.0}
"""CPU seconds per million rows."""

FILTER = """
define stream Trades (ts long, symbol string, price double, n int);
from Trades[price > 500.0 and n % 2 == 0] select symbol, price * 2.0 as twice, n + 1 as next insert into Out;
"""
FRAGMENT = """
define stream Trades (ts long, symbol string, price double, n int);
partition with (symbol of Trades) begin
    from Trades#window.length(100) select symbol, avg(price) as mean, n insert into Out;
end;
"""
SCHEMA = "ts bigint, symbol string, price double, n int"


def cpu_seconds() -> float:
    """Return user and system time of this process and all its descendants, also of those that have ended."""
    ticks = os.sysconf("SC_CLK_TCK")
    parents, times = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
        times[int(entry.name)] = sum(int(field) for field in fields[11:15])
    total = 0
    for pid, spent in times.items():
        up = pid
        while up not in (0, os.getpid()):
            up = parents.get(up, 0)
        if up == os.getpid():
            total += spent
    return total / ticks


def write_trades(folder: Path, rows: int, files: int, keys: int) -> None:
    rng = np.random.default_rng(5)
    folder.mkdir(parents=True)
    names = np.array([f"SYM{number:05}" for number in range(keys)])
    for number in range(files):
        n = rows // files
        first = number * n
        table = pa.table(
            {
                "ts": pa.array(1_700_000_000_000 + np.arange(first, first + n), pa.int64()),
                "symbol": pa.array(names[rng.integers(0, keys, n)]),
                "price": pa.array(rng.random(n) * 1000),
                "n": pa.array(np.arange(first, first + n), pa.int32()),
            }
        )
        path = folder / f"{number:03}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number,) * 2)


def measured(run: Callable[[], None], rows: int, repeat: int) -> dict[str, float]:
    run()
    best = {"cpu": float("inf"), "wall": float("inf")}
    for _ in range(repeat):
        cpu, wall = cpu_seconds(), time.perf_counter()
        run()
        best["cpu"] = min(best["cpu"], (cpu_seconds() - cpu) / rows * 1e6)
        best["wall"] = min(best["wall"], (time.perf_counter() - wall) / rows * 1e6)
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--batch-rows", type=int, default=1_000_000, help="per micro-batch of the stream")
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=sorted(LIMITS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # compile the installed modules, so that the workers need not
    from siddhi.spark import SparkRuntime, local_session

    spark = local_session("local[2]", app_name="bench", settings={"spark.driver.memory": "1g"})
    folder = Path(tempfile.mkdtemp(prefix="siddhi-spark-"))
    write_trades(folder / "trades", options.rows, max(1, options.rows // options.batch_rows), options.keys)

    def batch(app: str) -> Callable[[], None]:
        def run() -> None:
            runtime = SparkRuntime(app, spark, shards=32)
            runtime.bind("Trades", spark.read.parquet(str(folder / "trades")), timestamp="ts", sequence=["n"])
            runtime.output("Out").write.format("noop").mode("overwrite").save()

        return run

    def stream() -> None:
        runtime = SparkRuntime(FRAGMENT, spark, shards=32)
        rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "trades"))
        runtime.bind("Trades", rows, timestamp="ts", watermark="1 second", sequence=["n"])
        # A new folder for each run: Spark may still upload snapshots of the previous run.
        checkpoint = Path(tempfile.mkdtemp(prefix="checkpoint-", dir=folder))
        sink = lambda frame, _: frame.write.format("noop").mode("overwrite").save()  # noqa: E731
        runtime.finish(str(checkpoint), {"Out": sink})

    plans = {"Catalyst filter": batch(FILTER), "batch fragment": batch(FRAGMENT), "stream": stream}
    failed = False
    try:
        for name, run in plans.items():
            if options.only not in (None, name):
                continue
            found = measured(run, options.rows, options.repeat)
            ok = found["cpu"] <= LIMITS[name]
            failed |= not ok
            told = {"plan": name, **{k: round(v, 3) for k, v in found.items()}, "limit": LIMITS[name], "ok": ok}
            print(json.dumps(told), flush=True)
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
