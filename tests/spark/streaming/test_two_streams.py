"""Two streams and their common time: one is idle, ends later, and continues after the end."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from siddhi.errors import SparkRunError
from siddhi.spark.testing import differences, oracle

pytestmark = pytest.mark.spark
START = 1_700_000_000_000
APP = """@app:name('Two')
define stream Trades (ts long, symbol string, n int);
define stream Quotes (ts long, symbol string, n int);
@info(name = 'seconds') from Trades#window.timeBatch(1 sec, 0)
select symbol, sum(n) as total group by symbol insert into Seconds;
@info(name = 'never') from Quotes[n < 0] select symbol insert into Never;
"""
SCHEMA = "ts bigint, symbol string, n int"
BOTH = ("Trades", "Quotes")


def rows_of(first_ms: int, n: int, step_ms: int) -> list[tuple]:
    return [(START + first_ms + i * step_ms, f"S{i % 3}", i) for i in range(n)]


def put(folder, name: str, rows: list[tuple]) -> None:
    folder.mkdir(exist_ok=True)
    types = pa.schema([("ts", pa.int64()), ("symbol", pa.string()), ("n", pa.int32())])
    columns = [pa.array(values, field.type) for values, field in zip(zip(*rows), types)]
    pq.write_table(pa.Table.from_arrays(columns, schema=types), folder / f"{name}.parquet")


def test_an_idle_stream_and_the_end_of_time(spark, tmp_path, monkeypatch):
    from siddhi.spark import MemorySink, SparkRuntime
    from siddhi.spark.streaming import starting

    def runtime() -> SparkRuntime:
        made = SparkRuntime(APP, spark, shards=2)
        for stream in ("Quotes", "Trades"):  # in another order than the app's
            rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / stream))
            made.bind(stream, rows, timestamp="ts", watermark="100 milliseconds", sequence=["n"])
        return made

    checkpoint, now = str(tmp_path / "checkpoint"), {"availableNow": True}
    seconds, never = MemorySink(), MemorySink()
    sinks = {"Seconds": seconds, "Never": never}
    trades, quotes = rows_of(0, 100, 100), rows_of(0, 1, 1)
    put(tmp_path / "Trades", "a", trades)
    put(tmp_path / "Quotes", "a", quotes)
    first = runtime()
    first.start(checkpoint, sinks, trigger=now).await_termination()
    assert seconds.rows == []
    with pytest.raises(ValueError, match="after the year 9000: end a stream with finish"):
        first.punctuate("Quotes", 1 << 50)
    with pytest.raises(TypeError, match=r"invalid clock .*: expected an integer"):
        first.punctuate("Quotes", START + 5_001.5)
    first.punctuate("Quotes", START + 5_001)
    first.start(checkpoint, sinks, trigger=now).await_termination()
    assert {(row[-1] - START) // 1000 for row in seconds.rows} == {0, 1, 2, 3, 4}

    # What came last is known although Spark's reports are lost with the process.
    more = rows_of(5_100, 80, 100)
    put(tmp_path / "Quotes", "b", more)
    first.start(checkpoint, sinks, trigger=now).await_termination()
    times = json.loads((tmp_path / "checkpoint" / "siddhi" / "times.json").read_text())
    assert times == {"Trades": trades[-1][0], "Quotes": more[-1][0]}
    monkeypatch.setattr(starting, "reported", lambda _: [])
    runtime().finish(checkpoint, sinks)
    events = [("Trades", row[0], row) for row in trades] + [("Quotes", row[0], row) for row in quotes + more]
    want = oracle(APP, events, ["Seconds"])["Seconds"]
    assert max(row[0] for row in want) == START + 9_900
    assert differences(want, [(row[-1], *row[:-1]) for row in seconds.rows]) is None

    # Closed with 'hold', so it may go on.
    later = rows_of(13_500, 10, 100)
    put(tmp_path / "Trades", "b", later)
    with pytest.raises(
        SparkRunError, match="is closed: its stream was finished; start with reopen=True to continue it"
    ):
        runtime().start(checkpoint, sinks, trigger=now)
    runtime().start(checkpoint, sinks, trigger=now, reopen=True).await_termination()
    runtime().finish(checkpoint, sinks)
    events += [("Trades", row[0], row) for row in later]
    want = oracle(APP, events, ["Seconds"])["Seconds"]
    assert differences(want, [(row[-1], *row[:-1]) for row in seconds.rows]) is None
    left = [list((tmp_path / "checkpoint" / "siddhi" / "punctuation" / name).glob("mark-*")) for name in BOTH]
    assert max(map(len, left)) <= 2  # those of the last start and of the end


UNREAD = """
define stream S (ts long, symbol string, n int);
define stream Clock (ts long, symbol string, n int);
from every e=S -> not S for 10 sec select e.n as n insert into Silent;
from S#window.time(5 sec) select n insert expired events into Expired;
from S select n output every 4 sec insert into Rated;
from Clock[n < 0] select n insert into Unwanted;
"""


@pytest.mark.filterwarnings("ignore:.*runs? on one shard:UserWarning")
def test_a_stream_that_no_query_reads_moves_the_clock(spark, tmp_path):
    from siddhi.spark import MemorySink, SparkRuntime

    put(tmp_path / "S", "a", rows_of(0, 2, 500))
    put(tmp_path / "Clock", "a", rows_of(1_000, 1, 1) + rows_of(60_000, 1, 1))
    runtime = SparkRuntime(UNREAD, spark, shards=2)
    for stream in ("S", "Clock"):
        rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / stream))
        runtime.bind(stream, rows, timestamp="ts", watermark="1 second", sequence=["n"])
    sinks = {stream: MemorySink() for stream in ("Silent", "Expired", "Rated")}
    runtime.finish(str(tmp_path / "checkpoint"), sinks)
    events = [("S", row[0], row) for row in rows_of(0, 2, 500)]
    events += [("Clock", START + at, (START + at, "S0", 0)) for at in (1_000, 60_000)]
    want = oracle(UNREAD, events, list(sinks))
    assert [len(rows) for rows in want.values()] == [1, 2, 2]
    for stream, sink in sinks.items():
        assert differences(want[stream], [(row[-1], *row[:-1]) for row in sink.rows]) is None
