"""Incremental aggregations read in batch, by Catalyst and by engines: rows as in the embedded engine."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("pyspark")

from siddhi import SiddhiManager
from siddhi.planner.app import plan
from siddhi.query_api.definition import Duration
from siddhi.query_compiler import parse
from siddhi.spark.catalyst.aggregation_reading import asking, fragment_of
from siddhi.spark.plan.fragments import cut
from siddhi.spark.testing import bind_rows, differences
from siddhi.spark.workers.program import write_program

START = 1_706_000_000_000
STREAMS = (
    "define stream S (a string, q int, d double, ts long); define stream U (a string, q int, d double);"
    "@purge(enable = 'false')"
)
QUERY = "from S#window.length(3) select a, q, d insert into U;"
JOIN = "from S join G on S.a == G.a within 0L, 4000000000000L per 'days' select S.a as a, G.total as total insert into Out;"
EVERY = "aggregate every sec ... month;"


def rows() -> list[tuple[str, int, tuple[object, ...]]]:
    chosen = random.Random(7)
    found, time = [], START
    for _ in range(120):
        time += chosen.choice([0, 1, 500, 90_000, 40_000_000])
        values = (
            chosen.choice(["x", "y", "z", None]),
            chosen.choice([None, 1, 2]),
            chosen.choice([None, 0.25, 0.5, 7.75]),
            time - chosen.choice([0, 1000, 100_000]),
        )
        found.append(("S", time, values))
    return found


def read(app: str, per: str) -> list[tuple[object, ...]]:
    embedded = SiddhiManager().create_siddhi_app_runtime(app)
    embedded.enable_playback(True, timers="exact")
    with embedded:
        for stream, time, values in rows():
            embedded.input_handler(stream).send(values, time)
        return [event.data for event in embedded.query(f"from G within 0L, 4000000000000L per '{per}' select *")]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:.* runs? on one shard")
@pytest.mark.parametrize(
    ("text", "options", "shown"),
    [
        (
            f"select a, distinctCount(q) as values, distinctCount(d) as others, count() as n group by a {EVERY}",
            {},
            "Catalyst stage G: aggregation by bucket",
        ),
        (
            f"select a, sum(d) as total, avg(q) as mean, distinctCount(q) as values, d as last group by a {EVERY}",
            {"prefer": "engine"},
            "engine fragment 1 on 5 shards",
        ),
        (
            "select a, sum(d) as total, a as same group by a aggregate by ts every sec ... month;",
            {"exact_floats": True},
            "exact_floats=True: Spark's order of addition differs",
        ),
        (f"select a, stdDev(d) as spread group by a {EVERY}", {}, "the base value 'deviation'"),
        (f"select stdDev(d) as spread, max(q) as high {EVERY}", {}, "engine fragment 1 on one shard"),
        (
            f"select a, sum(q) as total group by a {EVERY} {JOIN}",
            {},
            "aggregation G: it shares what it uses",
        ),
    ],
)
def test_the_reader_is_that_of_explain(spark, text, options, shown):
    from siddhi.spark import SparkRuntime

    app = f"{STREAMS} define aggregation G from S {text}"
    runtime = SparkRuntime(app, spark, shards=5, **options)
    assert shown in runtime.explain()
    bind_rows(runtime, spark, rows())
    for per in ("seconds", "months"):
        frame = runtime.aggregation("G", per=per)
        want = read(app, per)
        assert len(want) > 1
        assert frame.columns[0] == "AGG_TIMESTAMP"
        assert differences(want, [tuple(row) for row in frame.collect()]) is None, per


@pytest.mark.spark
def test_buckets_start_in_the_time_zone_of_the_app(spark):
    from siddhi.spark import SparkRuntime

    zone = "@app:aggTimeZone('America/New_York')"
    app = f"{zone} {STREAMS} define aggregation G from S select a, sum(q) as total group by a {EVERY}"
    runtime = SparkRuntime(app, spark, shards=5)
    assert "its time zone is America/New_York" in runtime.explain()
    bind_rows(runtime, spark, rows())
    for per in ("hours", "days", "months"):
        want = read(app, per)
        if per != "hours":
            assert {time // 3_600_000 % 24 for time, *_ in want} <= {4, 5}  # midnight of New York in GMT
        assert differences(want, [tuple(row) for row in runtime.aggregation("G", per=per).collect()]) is None, per


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:.* runs? on one shard")
@pytest.mark.parametrize("prefer", ["native", "engine"])
def test_an_aggregation_of_output_of_the_engine(spark, prefer):
    from siddhi.spark import SparkRuntime

    app = f"{STREAMS} define aggregation G from U select a, max(d) as high group by a {EVERY} {QUERY}"
    runtime = SparkRuntime(app, spark, shards=5, prefer=prefer)
    bind_rows(runtime, spark, rows())
    got = [tuple(row) for row in runtime.aggregation("G", per="hours").collect()]
    assert differences(read(app, "hours"), got) is None


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:.* runs? on one shard")
def test_nothing_to_read_and_nothing_bound(spark):
    from siddhi.spark import SparkRuntime

    app = f"{STREAMS} define aggregation G from U select a, stdDev(d) as spread group by a {EVERY} {QUERY}"
    runtime = SparkRuntime(app, spark, shards=3)
    none = spark.createDataFrame([], "a string, q int, d double, ts bigint, at bigint")
    runtime.bind("S", none, timestamp="at")
    assert runtime.aggregation("G", per="hours").collect() == []
    other = SparkRuntime(f"define stream T (a string); {app}", spark, shards=3)
    other.bind("T", none, timestamp="at")
    with pytest.raises(ValueError, match="no source of 'U' is bound: bind S"):
        other.aggregation("G", per="hours")


def test_engines_of_readers_keep_all_rows_in_memory():
    pytest.importorskip("sqlalchemy")
    app = plan(
        parse(
            "define stream S (a string, d double); @purge(enable = 'true', interval = '1 min')"
            "@store(type = 'rdbms', jdbc.url = 'sqlite:///:memory:')"
            f"define aggregation G from S select a, stdDev(d) as spread group by a {EVERY}"
        )
    )
    layout = cut(app)
    fragment = fragment_of(layout, "G")
    assert fragment is not None
    assert fragment_of(layout, "S") is None
    program = asking(write_program(app, fragment, []), app.aggregations["G"], Duration.DAYS)
    assert "@store" not in program.text
    assert "@purge(enable='false')" in program.text
    assert program.text.count("@purge") == 1
    assert program.on_demand.endswith("per 'days' select *")
    assert program.answer is not None
    assert program.answer.types == ("long", "string", "double")
