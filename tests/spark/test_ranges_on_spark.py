"""Partitions by ranges on Spark in batch; streams of them are in the tests of checkpoints."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import functions as F

from siddhi.spark.plan.key_hash import shard_of_key
from siddhi.spark.testing import Row, assert_parity

pytestmark = pytest.mark.spark

STREAMS = """@app:name('Ranges') @app:playback(timers = 'exact') define stream Trades (ts long, symbol string, price double, n int);
define stream News (k string, v int);
"""
MIXED = (
    STREAMS
    + """
partition with (price > 500.0 as 'dear' or price < 700.0 as 'cheap' or n is null as 'S1' or n == 7 as 'dear' of Trades, k of News)
begin
    @info(name = 'counted') from Trades#window.time(1 sec) select symbol, n, count() as seen insert all events into Counted;
    @info(name = 'heard') from News select k, sum(v) as v insert into Heard;
    @info(name = 'both') from every a = News -> b = Trades select a.k as k, b.n as n insert into Both;
end;
"""
)
EVERY_LABEL = (
    STREAMS
    + """
from Trades[price != 100.0 or n < 60] select n, price * 2.0 as price insert into Twice;
partition with (price > 1000.0 as 'dear' or price < 1400.0 as 'cheap' or n is null as 'none' of Twice) begin
    @info(name = 'told') from Twice#window.length(2) join News#window.length(1) select n, v insert into Told;
end;
"""
)


def rows() -> list[Row]:
    rng = random.Random(3)
    found: list[Row] = []
    for number in range(120):
        time = 1_700_000_000_000 + 170 * (number // 2)
        if rng.random() < 0.3:
            found.append(("News", time, (rng.choice(["dear", "cheap", "S1", "x", None]), number)))
        else:
            price, n = rng.choice([None, 100.0, 600.0, 900.0]), rng.choice([None, 7, number])
            found.append(("Trades", time, (time, f"S{number % 3}", price, n)))
    return found


@pytest.mark.parametrize(("app", "shards"), [(MIXED, 64), (EVERY_LABEL, 3)], ids=["with values", "to every label"])
def test_a_batch_has_the_output_of_one_engine(spark, app: str, shards: int) -> None:
    assert_parity(app, rows(), spark, shards=(shards,))


def test_the_keys_are_those_of_spark(spark) -> None:
    texts = [
        "",
        "a",
        "dear",
        "eight ch",
        "twelve chars",
        "grün",
        "x" * 31,
        "y" * 32,
        "a label of more than thirty-two bytes" * 3,
    ]
    place = F.pmod(F.xxhash64("one", "other"), F.lit(64).cast("bigint"))
    frame = spark.createDataFrame(
        [(text, None) for text in texts] + [(text, "b") for text in texts], "one string, other string"
    )
    asked = [row["at"] for row in frame.select(place.alias("at")).collect()]
    assert asked == [shard_of_key([text, other], 64) for other in (None, "b") for text in texts]
