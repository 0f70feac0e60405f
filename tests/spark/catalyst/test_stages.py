"""Catalyst stages against the embedded engine: unions, joins with tables, tumbling windows, aggregations."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi import SiddhiManager, extension
from siddhi.extension import BaseAttribute, IncrementalAttributeAggregator
from siddhi.spark.testing import assert_parity, bind_rows, differences
from siddhi.types import AttributeType

pytestmark = pytest.mark.spark
TRADES = "define stream Trades (symbol string, price double, volume long, n int);"
ROWS = [
    ("Trades", 1000 + 700 * i, (None if i % 11 == 5 else f"S{i % 4}", None if i % 7 == 3 else i * 1.25, 2**62 + i, i))
    for i in range(40)
]


def native(app: str, spark, **options) -> None:
    from siddhi.spark import SparkRuntime

    assert "engine fragment" not in SparkRuntime(app, spark).explain()
    assert_parity(app, ROWS, spark, prefer=["native"], **options)


def test_filters_and_projections_into_one_stream(spark):
    native(
        f"""{TRADES}
        from Trades[price > 10.0] select symbol, price * 2.0 as twice insert into Out;
        from Trades[not (price > 10.0)] select symbol, price as twice having twice < 5.0 insert into Out;
        from Out[symbol is null] select twice insert into Unnamed;""",
        spark,
    )


def test_comparisons_are_pushed_down_to_files(spark, tmp_path):
    from siddhi.spark import SparkRuntime

    folder = str(tmp_path / "trades")
    spark.range(10).selectExpr("id as ts", "cast(id as double) as price", "cast(id as int) as n").write.parquet(folder)
    runtime = SparkRuntime(
        """define stream Trades (price double, n int);
        from Trades[price > 4.0 and n != 7] select price having price < 8.5 insert into Out;""",
        spark,
    )
    runtime.bind("Trades", spark.read.parquet(folder), timestamp="ts")
    found = runtime.output("Out")
    pushed = found._jdf.queryExecution().executedPlan().toString().split("PushedFilters: ")[1]
    assert "GreaterThan(price,4.0)" in pushed
    assert "LessThan(price,8.5)" in pushed
    assert sorted(row.price for row in found.collect()) == [5.0, 6.0, 8.0]


ZEROS = [
    [-0.0] * 20,
    [0.0] * 20,
    [-0.0, None] * 10,
    [-0.0, float("nan"), 1.0] * 10,
    [-1.5, -0.0, -2.25, -0.0, -3.0] * 4,
    [float("nan")] * 20,
]


@pytest.mark.parametrize("format_", ["parquet", "orc"])
@pytest.mark.parametrize("kind", ["double", "float"])
def test_zeros_in_files_are_found_with_any_sign(spark, tmp_path, format_, kind):
    from siddhi.spark import SparkRuntime
    from siddhi.spark.testing import oracle

    asked = [f"v {sign} {zero}" for sign in ("==", ">=", "<=", ">", "<", "!=") for zero in ("0.0", "-0.0", "0")]
    asked += ["v >= 0.0 and v <= 0.0", "0.0 <= v", "v >= 1.0 - 1.0", "v == 1.0", "not (v > 0.0)"]
    app = f"define stream S (v {kind}, n int);\n" + "\n".join(
        f"from S[{condition}] select {number} as asked, n insert into O;" for number, condition in enumerate(asked)
    )
    every = []
    for number, values in enumerate(ZEROS):  # a file each: what a file says of its values is what a reader skips it by
        rows = [(1000 + n, value, n) for n, value in enumerate(values, 100 * number)]
        frame = spark.createDataFrame(rows, f"ts bigint, v {kind}, n int").coalesce(1)
        frame.write.format(format_).mode("append").save(str(tmp_path / "rows"))
        every += rows
    runtime = SparkRuntime(app, spark)
    runtime.bind("S", spark.read.format(format_).load(str(tmp_path / "rows")), timestamp="ts")
    found = sorted((row.asked, row.n) for row in runtime.output("O").collect())
    want = oracle(app, [("S", ts, row) for ts, *row in every], ["O"])["O"]
    assert found == sorted(tuple(row[-2:]) for row in want)


@pytest.mark.parametrize("how", ["join", "left outer join"])
def test_joins_with_a_table(spark, how):
    native(
        f"""{TRADES} define table Names (symbol string, name string);
        from Trades[n > 3] as t {how} Names as m on t.symbol == m.symbol
        select t.symbol as symbol, m.name as name, t.n as n insert into Named;""",
        spark,
        tables={"Names": [("S1", "one"), ("S2", "two"), ("S2", None), (None, "none"), ("S9", "it's nine")]},
    )


@pytest.mark.parametrize(
    ("key", "kind", "told"),
    [("A", "string", "'A'"), (None, "string", "null"), (-0.0, "double", r"-?0\.0")],
)
@pytest.mark.parametrize("way", ["native", "engine"])
def test_a_table_with_two_rows_of_one_primary_key_is_refused(spark, way, key, kind, told):
    from siddhi.spark import SparkRunError, SparkRuntime, run_errors

    app = f"""define stream S (k {kind}, v int); @PrimaryKey('k', 'n') define table L (k {kind}, n int, m int);
        from S join L on S.k == L.k and S.v == L.m select S.k as k, L.m as m insert into O;"""
    other = 0.0 if kind == "double" else key
    runtime = SparkRuntime(app, spark, prefer=way)
    runtime.bind("S", spark.createDataFrame([(key, 9, 1000)], f"k {kind}, v int, ts bigint"), timestamp="ts")
    columns = f"k {kind}, n int, m int"
    once = spark.createDataFrame([(key, 1, 1), (key, 2, 2), (None, 3, 3)], columns)
    runtime.bind_table("L", once)
    assert runtime.output("O").collect() == []
    runtime.bind_table("L", once.unionAll(spark.createDataFrame([(other, 2, None)], columns)))
    with (
        pytest.raises(
            SparkRunError, match=f"^table 'L' is bound to several rows with the primary key k, n = {told}, 2$"
        ),
        run_errors(),
    ):
        runtime.output("O").collect()


def test_a_table_with_a_primary_key_is_sent_to_all_workers(spark, capsys):
    from siddhi.spark import SparkRuntime

    app = f"""{TRADES} @PrimaryKey('symbol') define table Names (symbol string, name string);
        from Trades as t left outer join Names as m on t.symbol == m.symbol and m.name != 'two'
        select t.symbol as symbol, m.name as name, t.n as n insert into Named;"""
    tables = {"Names": [("S1", "one"), ("S2", "two"), ("S9", "nine")]}
    native(app, spark, tables=tables)
    runtime = SparkRuntime(app, spark)
    bind_rows(runtime, spark, ROWS, tables)
    runtime.output("Named").explain()
    assert "BroadcastHashJoin" in capsys.readouterr().out


@pytest.mark.parametrize("end", ["hold", "flush"])
def test_tumbling_windows_with_a_start(spark, end):
    native(
        f"""{TRADES}
        from Trades#window.timeBatch(5 sec, 0)
        select symbol, sum(volume) as volume, sum(price) as total, avg(price) as mean, count() as trades, min(n) as low,
            max(price) as high, n
        group by symbol insert into Bars;
        from Trades#window.timeBatch(3 sec, 1 sec) select sum(n) as total, n insert into All;""",
        spark,
        end_of_input=end,
    )


def test_integers_lose_digits_in_single_precision(spark):
    app = f"""{TRADES} from Trades select convert(convert(n, 'float'), 'int') as a, convert(volume, 'float') / 3.0f as b,
        convert(convert(n, 'float'), 'double') as c, n / 3.0f as d insert into Singles;"""
    rows = [("Trades", 1000 + i, ("x", 1.0, 2**53 + i, 16777217 + i)) for i in range(5)]
    assert_parity(app, rows, spark, prefer=["native"])


def test_the_first_period_is_longer_if_it_starts_after_the_first_event(spark):
    native(
        f"""{TRADES}
        from Trades#window.timeBatch(5 sec, 2 min) select symbol, sum(n) as n, count() as trades group by symbol insert into Bars;
        from Trades[n > 9]#window.timeBatch(3 sec, 20 sec) select sum(n) as total insert into Half;
        from Trades#window.timeBatch(3 sec, 1 sec) select count() as trades insert into Counts;""",
        spark,
    )


def test_the_last_event_of_a_batch_is_that_of_the_last_stream(spark):
    streams = "define stream A (n int); define stream B (n int);"
    rows = [("BA"[i % 2], 1000 + 100 * (i // 2), (i,)) for i in range(40)]
    assert_parity(
        f"""{streams} from A select n insert into U; from B select n insert into U; from A[n > 5] select 0 - n as n insert into U;
        from U#window.timeBatch(1 sec, 0) select n, count() as c insert into O;""",
        rows,
        spark,
        prefer=["native"],
    )


def test_a_group_of_an_aggregation_is_named_by_its_first_key(spark):
    from siddhi.spark import SparkRuntime

    app = """define stream S (d double, f float, n int);
        @purge(enable = 'false') define aggregation Ag from S select d, f, count() as c group by d, f aggregate every sec ... hour;"""
    keys = [(-0.0, 1.0), (0.0, 1.0), (float("nan"), 0.0), (float("nan"), -0.0), (None, -0.0), (None, 0.0)]
    rows = [("S", 3_600_000 + 700 * n, (*key, n)) for n, key in enumerate(keys)]
    rows += [("S", 9_000_000 + 700 * n, (*key, n)) for n, key in enumerate(reversed(keys))]
    embedded = SiddhiManager().create_siddhi_app_runtime(app)
    embedded.enable_playback(True, timers="exact")
    runtime = SparkRuntime(app, spark)
    assert "engine fragment" not in runtime.explain()
    bind_rows(runtime, spark, rows)
    with embedded:
        for stream, time, row in rows:
            embedded.input_handler(stream).send(row, time)
        for per in ("seconds", "hours"):
            asked = f"from Ag within 0L, 4000000000000L per '{per}' select *"
            want = [event.data for event in embedded.query(asked)]
            got = [tuple(row) for row in runtime.aggregation("Ag", per=per).collect()]
            assert differences(want, got) is None, per


def test_aggregations_are_one_group_by(spark):
    from siddhi.spark import SparkRuntime

    day = 86_400_000
    app = (
        "@app:playback define stream Trades (ts long, symbol string, price double, volume int);"
        "@purge(enable = 'false')"
        "define aggregation Bars from Trades[volume > 0] select symbol, sum(volume) as volume, avg(price) as mean,"
        " min(price) as low, max(price) as high, count() as trades, price as last, distinctCount(volume) as sizes"
        " group by symbol aggregate by ts every sec ... year;"
    )
    rows = []
    for i in range(60):
        time = 1_706_000_000_000 + i * day * 3 // 2
        rows.append(("Trades", time, (time, f"S{i % 3}", None if i % 8 == 2 else i / 4, i % 5)))
    embedded = SiddhiManager().create_siddhi_app_runtime(app)
    runtime = SparkRuntime(app, spark)
    bind_rows(runtime, spark, rows)
    with embedded:
        for stream, time, row in rows:
            embedded.input_handler(stream).send(row, time)
        for per in ("seconds", "hours", "days", "months", "years"):
            asked = f"from Bars within 0L, 4000000000000L per '{per}' select *"
            want = [event.data for event in embedded.query(asked)]
            got = [tuple(row) for row in runtime.aggregation("Bars", per=per).collect()]
            assert differences(want, got) is None, per
    with pytest.raises(ValueError, match="has no buckets per 'weeks': use one of sec, min, hour, day, month, year"):
        runtime.aggregation("Bars", per="weeks")


LONG, DOUBLE = AttributeType.LONG, AttributeType.DOUBLE
NUMBERS = (AttributeType.INT, LONG, AttributeType.FLOAT, DOUBLE)


@extension.incremental_aggregator("native:spread", args=(NUMBERS,), returns=lambda types, _constants: types[0])
def partitioning(x):
    least = BaseAttribute(f"AGG_MIN_{x.name}", x.type, "min", x.name)
    greatest = BaseAttribute(f"AGG_MAX_{x.name}", x.type, "max", x.name)
    return IncrementalAttributeAggregator((least, greatest), f"{greatest.name} - {least.name}")


@extension.incremental_aggregator("native:weightedMean", args=(NUMBERS, NUMBERS), returns=DOUBLE)
def weighted_mean(value, weight):
    name = f"{value.name}_{weight.name}"
    total = BaseAttribute(f"AGG_TOTAL_{name}", DOUBLE, "sum", f"convert({value.name}, 'double') * {weight.name}")
    weights = f"ifThenElse({value.name} is null, 0L, convert({weight.name}, 'long'))"
    weight = BaseAttribute(f"AGG_WEIGHT_{name}", LONG, "sum", weights)
    return IncrementalAttributeAggregator((total, weight), f"{total.name} / {weight.name}")


@extension.function("native:half", args=(DOUBLE,), returns=DOUBLE)
def half(x):
    return None if x is None else x / 2


@extension.incremental_aggregator("native:halves", args=(DOUBLE,), returns=DOUBLE)
def halves(x):
    return IncrementalAttributeAggregator((BaseAttribute("H", DOUBLE, "sum", x.name),), "native:half(H)")


def test_aggregators_of_extensions_are_part_of_the_group_by(spark):
    from siddhi.spark import SparkRuntime

    app = (
        "@app:playback define stream Trades (ts long, symbol string, price double, volume int);"
        "@purge(enable = 'false')"
        "define aggregation Bars from Trades select symbol, native:spread(price) as spread, min(price) as low,"
        " native:spread(volume) as volumes, native:weightedMean(price, volume) as mean"
        " group by symbol aggregate by ts every sec ... day;"
    )
    rows = []
    for i in range(60):
        time = 1_706_000_000_000 + i * 7_000_000
        rows.append(("Trades", time, (time, f"S{i % 3}", None if i % 8 == 2 else i / 4, i % 5)))
    embedded = SiddhiManager().create_siddhi_app_runtime(app)
    runtime = SparkRuntime(app, spark)
    bind_rows(runtime, spark, rows)
    with embedded:
        for stream, time, row in rows:
            embedded.input_handler(stream).send(row, time)
        for per in ("seconds", "hours", "days"):
            want = [event.data for event in embedded.query(f"from Bars within 0L, 4000000000000L per '{per}' select *")]
            got = [tuple(row) for row in runtime.aggregation("Bars", per=per).collect()]
            assert differences(want, got) is None, per
    python = SparkRuntime(app.replace("native:spread(price)", "native:halves(price)"), spark)
    assert "aggregation Bars: the function 'native:half'" in python.explain()


def test_an_integer_is_rounded_to_a_float_before_further_use(spark):
    app = (
        "define stream S (b int, m long); from S select convert(convert(m, 'float'), 'long') as l,"
        " convert(convert(m, 'float'), 'double') as d, convert(convert(b, 'float'), 'double') as e insert into O;"
    )
    rows = [
        ("S", 1000, (2**31 - 65, -9223372034707292162)),
        ("S", 2000, (16777217, 2**53 + 1)),
        ("S", 3000, (None, None)),
    ]
    assert_parity(app, rows, spark, prefer=["native"])
