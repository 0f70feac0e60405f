"""A stream in a process of its own, to be killed: ``python -m tests.spark.streaming.stream_run FOLDER`` reads FOLDER/in, writes
FOLDER/out."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

APP = """
@app:name('Killed')
define stream Trades (ts long, symbol string, price double, n int);
@info(name = 'dear') from Trades[price > 900.0] select ts, symbol, price insert into Dear;
partition with (symbol of Trades) begin
    @info(name = 'running')
    from Trades select symbol, n, count() as seen, sum(price) as total insert into Running;
    @info(name = 'rise')
    from every a=Trades, b=Trades[price > a.price], c=Trades[price > b.price]
    select a.symbol as symbol, a.n as first, c.n as last insert into Rises;
end;
"""
OUTPUTS = ("Running", "Rises", "Dear")
SCHEMA = "ts bigint, symbol string, price double, n int"


def main(folder: Path) -> None:
    from siddhi.spark import SparkRuntime
    from siddhi.spark.sinks.declared import FileSink
    from tests.spark.small_session import small_session

    warnings.simplefilter("ignore")
    spark = small_session("killed")
    runtime = SparkRuntime(APP, spark, shards=4)
    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    runtime.bind("Trades", rows, timestamp="ts", watermark="3 seconds", sequence=["n"])
    runtime.finish(str(folder / "checkpoint"), {name: FileSink(str(folder / "out" / name)) for name in OUTPUTS})
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
