"""Explained plans as golden text; errors with their location; needs no Java."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import DefinitionNotExistError, SparkLoweringError, SparkSetupError
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark import SparkRuntime
from siddhi.spark.plan.fragments import cut
from siddhi.spark.plan.unsupported import refuse_stored_aggregations
from siddhi.spark.workers.program import write_program
from siddhi.types import AttributeType

GOLDEN = Path(__file__).parents[2] / "golden" / "spark"
TRADES = "define stream Trades (ts long, symbol string, price double, n int);"
APPS = {
    "native": f"""@app:name('native') {TRADES} define table Names (symbol string, name string);
        define aggregation Bars from Trades select symbol, sum(n) as n, avg(price) as mean group by symbol
        aggregate by ts every sec ... day;
        @info(name = 'dear') from Trades[price > 10.0] select symbol, price insert into Dear;
        @info(name = 'named') from Dear as d join Names as m on d.symbol == m.symbol select m.name insert into Named;
        @info(name = 'bars') from Trades#window.timeBatch(1 min, 0) select symbol, sum(price) as total
        group by symbol insert into Minutes;""",
    "fragments": f"""@app:name('fragments') @app:playback {TRADES} define stream News (ts long, symbol string, text string);
        @info(name = 'dear') from Trades[price > 10.0] select symbol, price insert into Dear;
        @info(name = 'rise') from every a=Dear -> b=News[symbol == a.symbol] within 1 min
        select a.symbol as symbol, b.text as text insert into Rises;
        partition with (symbol of Rises) begin
            @info(name = 'counted') from Rises#window.length(3) select symbol, count() as n insert into Counted;
        end;
        @info(name = 'last') from Counted#window.length(5) select max(n) as most insert into Most;
        @info(name = 'many') from Most[most > 2L] select most insert into Many;""",
    "one_shard": f"""@app:name('one_shard') @app:playback {TRADES} define table Seen (symbol string);
        @info(name = 'note') from Trades select symbol insert into Seen;
        @info(name = 'ask') from Trades[not (Seen.symbol != symbol in Seen)] select symbol insert into First;""",
    "ranges": f"""@app:name('ranges') @app:playback {TRADES} define stream News (ts long, symbol string);
        partition with (price > 9.0 as 'dear' or n > 100 as 'many' of Trades, symbol of News) begin
            @info(name = 'counted') from Trades select symbol, count() as n insert into Counts;
            @info(name = 'heard') from News select symbol, count() as n insert into Heard;
        end;
        partition with (convert(price, 'string') == '1.0' as 'one' of Trades) begin
            @info(name = 'ones') from Trades select count() as n insert into Ones;
        end;""",
}


@pytest.mark.parametrize("name", APPS)
def test_explained(golden, name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        runtime = SparkRuntime(APPS[name], None)
        told = [runtime.explain(), runtime.explain(streaming=True)]
    golden(GOLDEN / f"{name}.txt", "\n\n".join(told))


def test_single_shards_are_warned_of_or_refused():
    app = f"{TRADES}\n@info(name = 'last')\nfrom Trades#window.length(5) select max(n) as most insert into Most;"
    with pytest.warns(UserWarning, match="last runs on one shard"):
        SparkRuntime(app, None)
    with pytest.raises(SparkLoweringError) as caught:
        SparkRuntime(app, None, strict=True)
    assert (caught.value.code, caught.value.line, caught.value.column) == ("E410", 3, 0)


def test_streams_are_warned_of_at_their_start():
    app = f"{TRADES}\n@info(name = 'sum')\nfrom Trades#window.timeBatch(10 sec, 0) select sum(n) as s insert into Sums;"
    runtime = SparkRuntime(app, None)  # of a batch it is native
    with pytest.warns(UserWarning, match="sum runs on one shard") as told, pytest.raises(ValueError, match="no stream"):
        runtime.start("checkpoint", {})
    assert [Path(warning.filename) for warning in told] == [Path(__file__)]
    with pytest.raises(ValueError, match="no stream"):
        runtime.finish("checkpoint", {})  # once is enough
    strict = SparkRuntime(app, None, strict=True)
    for call in (strict.start, strict.finish):
        with pytest.raises(SparkLoweringError, match="runs on one shard") as caught:
            call("checkpoint", {})
        assert (caught.value.code, caught.value.line) == ("E410", 3)


def test_purges_that_depend_on_shards_are_warned_of_or_refused():
    app = f"""{TRADES}
@purge(enable = 'true', interval = '1 sec', idle.period = '1 min')
partition with (symbol of Trades) begin @info(name = 'q') from Trades select count() as n insert into Counts; end;"""
    with pytest.warns(
        UserWarning, match="partition_0 purges idle keys at times counted from the first event of each shard"
    ):
        SparkRuntime(app, None)
    with pytest.raises(SparkLoweringError) as caught:
        SparkRuntime(app, None, strict=True)
    assert (caught.value.code, caught.value.line) == ("E410", 3)
    SparkRuntime(app, None, strict=True, shards=1)


def test_stored_aggregations_are_not_written_by_workers():
    pytest.importorskip("sqlalchemy")
    app = plan(
        parse(
            f"{TRADES}\n@store(type = 'rdbms', url = 'sqlite://')\ndefine aggregation Bars from Trades"
            " select symbol, stdDev(price) as spread group by symbol aggregate every sec ... day;"
        )
    )
    with pytest.raises(SparkLoweringError, match="aggregation 'Bars' is in store 'rdbms'") as caught:
        refuse_stored_aggregations(app, cut(app).fragments)
    assert (caught.value.code, caught.value.line) == ("E403", 3)
    refuse_stored_aggregations(app, [])


def test_names_that_are_taken_are_refused_with_their_location():
    app = """define stream SparkRows (k string);
define table T (k string);
define stream T__rows (k string, K string);
@info(name = 'SparkRows-0') from T__rows join T on T__rows.k == T.k select T.k as k insert into SparkMarked0;"""
    with pytest.raises(SparkLoweringError) as caught:
        SparkRuntime(app, None)
    assert {one.code for one in caught.value.refusals} == {"E411"}
    assert sorted(one.line or 0 for one in caught.value.refusals) == [1, 3, 3, 4, 4]
    assert "attributes 'k' and 'K' of 'T__rows' differ in case only, which Spark ignores" in str(caught.value)
    telling = type("Session", (), {"conf": {"spark.sql.caseSensitive": "true"}})()
    SparkRuntime("define stream S (k string, K string); from S select k insert into O;", telling)


def test_all_errors_are_reported_with_their_locations():
    app = f"""{TRADES}
define trigger Start at 'start';
@OnError(action = 'store')
define stream Odd (n int);
from Trades#window.cron('*/5 * * * * ?') select n insert into Out;
"""
    with pytest.raises(SparkLoweringError) as caught:
        SparkRuntime(app, None)
    assert [(one.code, one.line) for one in caught.value.refusals] == [("E401", 2), ("E402", 5), ("E406", 4)]
    assert all(one.hint for one in caught.value.refusals)
    assert "2 | define trigger Start at 'start';" in str(caught.value)


def test_missing_options_of_sources_are_named():
    app = """@source(type = 'file', @map(type = 'xml')) define stream A (ts long);
@source(type = 'kafka', topic = 't', timestamp = 'at') define stream B (ts long);
from A select ts insert into O;"""
    with pytest.raises(SparkLoweringError) as caught:
        SparkRuntime(app, None)
    assert [one.message for one in caught.value.refusals] == [
        "the file source of 'A' has no file.uri",
        "the file source of 'A' has the unsupported map 'xml'",
        "the file source of 'A' has no timestamp",
        "the kafka source of 'B' has no bootstrap.servers",
        "the kafka source of 'B': the stream has no attribute 'at'",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shards": 0}, "invalid shards 0: expected at least 1"),
        ({"prefer": "both"}, "invalid prefer 'both': expected 'native' or 'engine'"),
        ({"end_of_input": "stop"}, "invalid end_of_input 'stop': expected 'hold' or 'flush'"),
        ({"late": "keep"}, "invalid late 'keep': expected 'drop', 'side' or 'error'"),
    ],
)
def test_options(options, message):
    with pytest.raises(ValueError, match=message):
        SparkRuntime(f"{TRADES} from Trades select n insert into Out;", None, **options)


def test_elements_without_effect_on_spark_are_explained():
    app = """@app:playback(idle.time = '1 sec', increment = '1 sec') @async(buffer.size = '64') define stream S (n int);
    from S select n insert into O;"""
    told = SparkRuntime(app, None).explain()
    assert "@app:playback(idle.time) has no effect" in told
    assert "@async of S has no effect" in told
    assert (
        "has no effect"
        not in SparkRuntime(f"@app:playback {TRADES} from Trades select n insert into O;", None).explain()
    )


def test_an_app_without_name_is_shown_as_such():
    for text, told in (("@app:name('Named')", "app 'Named'"), ("", "the app without name")):
        app = f"{text} {TRADES} from Trades select n insert into Out;"
        with pytest.raises(DefinitionNotExistError, match=f"^{told} has no stream 'Ot'"):
            SparkRuntime(app, None).bind("Ot", None, timestamp="ts")
        made = plan(parse(app))
        (fragment,) = cut(made, prefer="engine").fragments
        assert write_program(made, fragment, ["Out"], shards=1).app == told


def test_invalid_options_are_reported_immediately():
    app = f"{TRADES} from Trades select n insert into Out;"
    for shards in ("3", 2.0, True):
        with pytest.raises(TypeError, match=f"invalid shards {shards!r}: expected an integer"):
            SparkRuntime(app, None, shards=shards)
    runtime = SparkRuntime(app, None)
    with pytest.raises(
        TypeError, match=r"invalid outputs 'Out': expected a list, run\(\['Out'\]\); or use output\('Out'\)"
    ):
        runtime.run("Out")
    with pytest.raises(TypeError, match=r"invalid sequence 'n': expected a list of columns, sequence=\['n'\]"):
        runtime.bind("Trades", None, timestamp="ts", sequence="n")
    for run in (runtime.start, runtime.finish):
        with pytest.raises(TypeError, match=r"invalid sink 'here' of 'Out': expected a function sink\(frame, batch\)"):
            run("checkpoint", {"Out": "here"})


def test_non_deterministic_functions_are_warned_about():
    from siddhi.extension import function

    @function("dice:throw", returns=AttributeType.INT, deterministic=False)
    def throw() -> int:
        return 4

    app = "define stream S (a int); @info(name = 'thrown') from S select dice:throw() as n insert into O;"
    with pytest.warns(UserWarning, match=r"^thrown calls dice:throw\(\), which is not deterministic"):
        SparkRuntime(app, None)
    with pytest.raises(SparkLoweringError, match=r"E410.*line 1"):
        SparkRuntime(app, None, strict=True)


def test_modes_that_need_micro_batches_or_one_process_are_refused():
    connected = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    runtime = SparkRuntime("define stream S (a int); from S select a insert into O;", connected)
    with pytest.raises(ValueError, match="trigger 'continuous' runs no micro-batches, which engines need"):
        runtime.start("checkpoint", {}, trigger={"continuous": "1 second"})
    with pytest.raises(ValueError, match="unknown trigger 'availabelNow'; did you mean 'availableNow'"):
        runtime.start("checkpoint", {}, trigger={"availabelNow": True})
    with pytest.raises(
        TypeError, match=r"invalid trigger 'availableNow': expected a dict such as \{'availableNow': True\}"
    ):
        runtime.start("checkpoint", {}, trigger="availableNow")
    for call in (lambda: runtime.start("c", {}), lambda: runtime.state("c"), lambda: runtime.migrate("c", "d")):
        with pytest.raises(SparkSetupError, match="does not run over Spark Connect"):
            call()


def test_invalid_argument_types_are_reported():
    app = "define stream S (a int); from S select a insert into O;"
    with pytest.raises(TypeError, match="invalid app None"):
        SparkRuntime(None, None)
    session = type("SparkSession", (), {"_sc": type("SparkContext", (), {"_jsc": "a JVM"})()})()
    runtime = SparkRuntime(app, session)
    session._sc._jsc = None  # as stop() leaves it
    with pytest.raises(SparkSetupError, match="the session has been stopped: create a session"):
        SparkRuntime(app, session)
    for call in (lambda: runtime.output("S"), runtime.run, lambda: runtime.start("c", {})):
        with pytest.raises(SparkSetupError, match="the session has been stopped: create a session"):
            call()
    with pytest.raises(TypeError, match=r"stream 'S' must be bound to a Spark DataFrame, not to a builtins\.list"):
        SparkRuntime(app, None).bind("S", [1], timestamp="ts")


def test_limits_run_in_the_engine_and_key_limits_on_one_shard():
    app = f"""@app:limits(values = '9') {TRADES}
    @info(name = 'bars') @limit(keys = '5') from Trades#window.timeBatch(1 min, 0)
    select symbol, sum(n) as total group by symbol insert into Minutes;
    @info(name = 'idle') @limit(ttl = '1 hour') from Trades select symbol, sum(n) as total group by symbol insert into Sums;
    @info(name = 'kinds') from Trades select symbol, distinctCount(n) as kinds group by symbol insert into Kinds;"""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        shown = SparkRuntime(app, None).explain()
    assert shown.splitlines()[2:] == [
        "engine fragment 1 on one shard: '@limit' counts the keys of all rows together",
        "  from Trades",
        "  query bars into Minutes: its @limit",
        "engine fragment 2 on 64 shards",
        "  from Trades by symbol",
        "  query idle into Sums: its @limit",
        "  query kinds into Kinds: its @limit",
    ]


def test_a_limit_of_a_bound_table_is_refused_with_its_place():
    app = f"""{TRADES}
@limit(rows = '5') define table Names (symbol string);
from Trades join Names on Trades.symbol == Names.symbol select Names.symbol as symbol insert into Out;"""
    with pytest.raises(SparkLoweringError, match="table 'Names' is limited to 5 rows") as caught:
        SparkRuntime(app, None)
    assert (caught.value.code, caught.value.line) == ("E413", 2)


def test_warnings_of_the_plan_are_logged_once_per_runtime(caplog):
    app = "@app:name('Old') define stream S (k string); from S#window.frequent(2) select k insert into O;"
    with caplog.at_level("WARNING", "siddhi"), pytest.warns(UserWarning, match="on one shard"):
        runtime = SparkRuntime(app, None)
    runtime.explain(streaming=True)
    assert caplog.messages == ["app 'Old': window 'frequent' is deprecated: use a grouped count instead"]


def test_temporal_streams_are_refused_with_their_places():
    app = """@temporal(model = 'point', policy = 'drop')
define stream S (id int);
from S#temporal:shift(5) select id insert into Mid;
from Mid#window.tumbling(10) select count() as n insert into Out;
"""
    with pytest.raises(SparkLoweringError) as caught:
        SparkRuntime(app, None)
    assert [(one.code, one.line) for one in caught.value.refusals] == [("E414", 2), ("E414", 3), ("E414", 4)]
    assert "stream 'Mid' is temporal" in str(caught.value)
