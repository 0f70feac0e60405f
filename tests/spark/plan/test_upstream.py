"""The streams that a stream reads from; the last test needs Java."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.catalyst.bindings import Binding
from siddhi.spark.catalyst.lowering import Settings
from siddhi.spark.plan.fragments import cut
from siddhi.spark.plan.upstream import is_fed, require_fed, sources_above, tables_above
from siddhi.spark.streaming.starting import Starter

APP = """define stream S (a string, i int); define stream T (a string, i int); define stream Alone (a string);
define trigger Tick at every 1 sec;
from S[i > 0] select a, i insert into O;
from O#window.length(2) select a, sum(i) as s insert into P;
from T select a, i insert into Q;
from every x=P -> y=Q select x.a as a insert into Both;
from Tick select triggered_time as t insert into Times;
"""


def laid_out():
    made = plan(parse(APP))
    return made, cut(made)


@pytest.mark.parametrize(
    ("stream", "above"),
    [("S", ["S"]), ("P", ["S"]), ("Both", ["S", "T"]), ("Times", ["Tick"]), ("Alone", ["Alone"])],
)
def test_the_upstream_streams_of_a_stream(stream, above):
    assert sources_above(*laid_out(), stream) == above


def test_a_bound_stream_in_between_is_a_source():
    made, layout = laid_out()
    assert sources_above(made, layout, "P", bound={"O"}) == ["S", "O"]
    assert is_fed(made, layout, "P", {"O"})
    assert is_fed(made, layout, "Both", {"T"})
    assert is_fed(made, layout, "Times", {"T"})
    assert not is_fed(made, layout, "Q", {"S", "O"})


JOINED = """define stream S (a string); define stream U (a string);
define stream Kept (a string, n double);
define table L (a string); define table M (a string); define table N (a string);
define aggregation Ag from Kept select a, stdDev(n) as s group by a aggregate every sec;
@info(name='plain') from S select a insert into O;
@info(name='named') from S join L on S.a == L.a select S.a as a insert into J;
@info(name='held') from S join M on S.a == M.a select S.a as a, 1.0 as n insert into Kept;
@info(name='asks') from U[U.a == N.a in N] select a insert into Known;
"""


@pytest.mark.parametrize(
    ("streams", "elements", "tables"),
    [
        (["O"], [], []),
        (["J"], [], ["L"]),
        (["Kept", "J"], [], ["L", "M"]),
        ([], ["Ag"], ["M"]),
        (["O", "Known"], [], ["N"]),
    ],
)
def test_the_tables_that_streams_read(streams, elements, tables):
    made = plan(parse(JOINED))
    assert tables_above(cut(made), streams, elements=elements) == tables
    # What runs in one engine has all its tables.
    assert set(tables_above(cut(made, prefer="engine"), streams, elements=elements)) >= set(tables)


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ("Q", "no source of 'Q' is bound: bind T"),
        ("Alone", "stream 'Alone' is not bound, and no query fills it"),
    ],
)
def test_streams_without_rows_are_warned_about(stream, message):
    with pytest.raises(ValueError, match=message):
        require_fed(*laid_out(), stream, {"S"})


@pytest.mark.parametrize("stream", ["O", "P"])
def test_streams_without_bound_upstream(stream):
    made = plan(parse(APP.replace("define trigger Tick at every 1 sec;", "define stream Tick (triggered_time long);")))
    layout = cut(made, streaming=True, bound={"T"})
    frame = SimpleNamespace(isStreaming=True)
    bindings = {"T": Binding("T", frame, "at", "1 second", (), None)}
    starter = Starter(None, made, layout, bindings, Settings(), "drop")
    with pytest.raises(ValueError, match=f"no source of '{stream}' is bound: bind S"):
        starter._checked(["Q", stream])


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:.* runs? on one shard")
def test_an_error_of_the_app_in_an_action_of_the_user(spark):
    from siddhi.spark import SparkRuntime, run_errors

    app = "define stream S (i int); define function f[python] return int { return 1 // 0 }; from S select f(i) as x insert into O;"
    runtime = SparkRuntime(app, spark)
    runtime.bind("S", spark.createDataFrame([(1, 1000)], "i int, at bigint"), timestamp="at")
    with pytest.raises(SparkRunError, match=r"^RuntimeError: function 'f' failed: ZeroDivisionError"), run_errors():
        runtime.output("O").collect()


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:.* runs? on one shard")
def test_outputs_without_bound_upstream(spark):
    from siddhi.spark import SparkRuntime

    rows = spark.createDataFrame([("x", 1, 1000), ("y", 2, 2000)], "a string, i int, at bigint")
    runtime = SparkRuntime(
        APP.replace("define trigger Tick at every 1 sec;\n", "define stream Tick (triggered_time long);"), spark
    )
    runtime.bind("T", rows, timestamp="at")
    for stream in ("P", "O", "Times"):
        with pytest.raises(ValueError, match=f"no source of '{stream}' is bound: bind (S|Tick)"):
            runtime.output(stream)
    assert sorted(map(tuple, runtime.output("Q").collect())) == [("x", 1), ("y", 2)]
    assert (
        runtime.output("Both").collect() == []
    )  # one of its streams is bound, and an engine gets nothing of the other
    assert list(runtime.run()) == ["Both"]
    runtime.bind("O", rows, timestamp="at")
    assert sorted(map(tuple, runtime.output("P").collect())) == [("x", 1), ("y", 3)]


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:.* one shard")
def test_an_output_needs_only_the_tables_upstream(spark):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(JOINED, spark)
    runtime.bind("S", spark.createDataFrame([("x", 1000)], "a string, at bigint"), timestamp="at")
    assert list(map(tuple, runtime.output("O").collect())) == [("x",)]
    with pytest.raises(ValueError, match="table L has no rows: call bind_table first"):
        runtime.output("J")
