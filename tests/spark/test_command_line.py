"""``siddhi run --engine spark --bind``."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark")

import click
import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

from siddhi.cli.command import siddhi
from siddhi.cli.endpoints import read_inputs, read_outputs
from siddhi.cli.failures import BadInput, OutputFailed
from siddhi.cli.spark.binds import Bind, bind_all, read_binds
from siddhi.cli.spark.checks import check_command, read_master, read_trigger
from siddhi.cli.spark.run import _tell
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.sources.annotations import without_connectors

APP = """define stream Trades (symbol string, price double);
from Trades[price > 2.0] select symbol, price insert into Dear;"""
CSV = "Trades=csv:in.csv?timestamp=ts"
OUT = ["--output", "Dear=-"]
IN = ["--bind", "Trades=parquet:/data?timestamp=t"]
WITH_TABLES = """define stream Trades (symbol string, price double);
define table Names (symbol string, name string);
define table Seen (symbol string);
from Trades join Names on Trades.symbol == Names.symbol select Trades.symbol as symbol, name insert into Named;
from Trades select symbol insert into Seen;
from Trades select price insert into Prices;"""


def test_a_bind_in_shell_syntax():
    text = "Trades=csv:/data/*.csv?timestamp=ts&watermark=10 seconds&sequence=a,b&max_idle=1 minute&sep=%3B"
    (bind,) = read_binds(None, None, (text,))
    assert bind == Bind("Trades", "csv", "/data/*.csv", "ts", "10 seconds", ("a", "b"), "1 minute", {"sep": ";"})
    (bind,) = read_binds(None, None, ("Trades=parquet:s3://bucket/trades?timestamp=ts",))
    assert (bind.path, bind.watermark, bind.options) == ("s3://bucket/trades", None, {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "spark", "--bind", "Trades=/data"], "expected Stream=format:path?timestamp=column"),
        (["--engine", "spark", "--bind", "T=parquets:/data?timestamp=t"], "unknown format 'parquets'"),
        (["--engine", "spark", "--bind", "T=kafka:topic?timestamp=t"], "for Kafka write @source(type='kafka', ...)"),
        (["--engine", "spark", "--bind", "Trades=parquet:/data", *OUT], "has no column of event time"),
        (["--engine", "spark", "--shards", "0"], "'--shards': 0 is not in the range x>=1"),
        (["--engine", "spark", "--master", "local[0]"], "invalid master 'local[0]'"),
        (["--engine", "spark", "--master", "foo"], "invalid master 'foo'"),
        (
            ["--engine", "spark", "--trigger", "soon"],
            "invalid trigger 'soon': expected available-now or an interval such as '5 seconds'",
        ),
        (
            ["--engine", "spark", *IN, "--output", "Dea=-"],
            "the app has no stream 'Dea' (streams: Trades, Dear); did you mean",
        ),
        (["--engine", "spark", "--timestamp", "t", "--input", "Trade=t.csv", *OUT], "; did you mean 'Trades'?"),
        (["--bind", "T=parquet:/data?timestamp=t"], "--bind requires --engine spark"),
    ],
)
def test_invalid_binds_are_refused(tmp_path, arguments, message):
    path = tmp_path / "app.siddhi"
    path.write_text(APP)
    result = CliRunner().invoke(siddhi, ["run", str(path), *arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


@pytest.fixture
def folder(tmp_path):
    for name in ("parquet", "csv", "json"):
        (tmp_path / name).mkdir()
    table = pa.table({"ts": [1000, 2000, 3000], "symbol": ["A", "B", None], "price": [1.0, 2.5, 3.5]})
    pq.write_table(table, tmp_path / "parquet" / "0.parquet")
    (tmp_path / "csv" / "0.csv").write_text("price,ts,symbol\n1.0,1000,A\n2.5,1970-01-01 00:00:02,B\n3.5,3000,\n")
    (tmp_path / "json" / "0.json").write_text(
        '{"ts": 1000, "symbol": "A", "price": 1.0}\n{"symbol": "B", "price": 2.5, "ts": "1970-01-01T00:00:02Z"}\n'
        '{"ts": 3000, "price": 3.5}\n'
    )
    return tmp_path


@pytest.mark.spark
@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_files_of_each_kind_in_batch_and_as_a_stream(spark, folder, format_):
    from siddhi.spark import MemorySink, SparkRuntime

    bind = Bind("Trades", format_, str(folder / format_), "ts", "0 seconds")
    batch, stream = SparkRuntime(APP, spark), SparkRuntime(APP, spark)
    bind_all(batch, spark, [bind], streaming=False)
    want = [("B", 2.5, 2000), (None, 3.5, 3000)]
    assert sorted(map(tuple, batch.output("Dear", meta=True).collect()), key=lambda row: row[2]) == want
    bind_all(stream, spark, [bind], streaming=True)
    sink = MemorySink()
    now = {"availableNow": True}
    stream.start(str(folder / "checkpoint"), {"Dear": sink}, trigger=now).await_termination()
    assert sorted(sink.rows, key=lambda row: row[2]) == want


@pytest.mark.spark
def test_files_with_other_columns_are_refused(spark, folder):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(APP, spark)
    for bind, message in (
        (Bind("Trades", "parquet", str(folder / "parquet"), "tss"), r"there is no column 'tss'; did you mean 'ts'\?"),
        (Bind("Trades", "parquet", str(folder / "nowhere"), "ts"), r"nowhere can't be read: .*PATH_NOT_FOUND"),
    ):
        with pytest.raises(BadInput, match=message):
            bind_all(runtime, spark, [bind], streaming=False)


@pytest.mark.spark
def test_times_of_a_bind_are_used_in_batch_too(spark, folder):
    from siddhi.spark import SparkRuntime

    bind = Bind("Trades", "parquet", str(folder / "parquet"), "ts", max_idle="5")
    with pytest.raises(BadInput, match="max_idle: invalid interval '5': expected one such as '10 seconds'"):
        bind_all(SparkRuntime(APP, spark), spark, [bind], streaming=False)


@pytest.mark.parametrize(
    ("times", "told"),
    [
        ({}, "batch 13: 1,000 rows\n"),
        ({"watermark": "1970-01-01T00:00:01.000Z"}, "batch 13: 1,000 rows, watermark 1970-01-01T00:00:01.000Z\n"),
    ],
)
def test_progress_of_a_stream(capsys, times, told):
    progress = {"batchId": 13, "numInputRows": 1000, "eventTime": times}
    assert _tell(SimpleNamespace(quiet=False), progress, 12) == 13
    assert _tell(SimpleNamespace(quiet=False), progress, 13) == 13
    assert capsys.readouterr().err == told


@pytest.mark.spark
def test_several_binds_of_one_stream_and_a_table(spark, tmp_path):
    from siddhi.spark import SparkRuntime

    (tmp_path / "a.csv").write_text("symbol,price,at\nB,1.0,1000\nA,2.0,1000\n")
    pq.write_table(pa.table({"ts": [1000, 500], "symbol": ["A", "C"], "price": [3.0, 4.0]}), tmp_path / "b.parquet")
    (tmp_path / "names.json").write_text('{"symbol": "A", "name": "Alpha"}\n{"symbol": "C", "name": null}\n')
    binds = [
        Bind("Trades", "csv", str(tmp_path / "a.csv"), "at"),
        Bind("Names", "json", str(tmp_path / "names.json")),
        Bind("Trades", "parquet", str(tmp_path / "b.parquet"), "ts"),
    ]
    pairs = "from a=Trades, b=Trades select a.price as first, b.price as second insert into Pairs;"
    app = f"{WITH_TABLES} partition with (symbol of Trades) begin {pairs} end;"
    runtime = SparkRuntime(app, spark, shards=1)
    bind_all(runtime, spark, binds, streaming=False)
    found = runtime.run(["Named", "Pairs"], meta=True)
    named = sorted(map(tuple, found["Named"].collect()), key=str)
    assert named == [("A", "Alpha", 1000), ("A", "Alpha", 1000), ("C", None, 500)]
    # Of one ms, rows of the first file go first.
    assert list(map(tuple, found["Pairs"].collect())) == [(2.0, 3.0, 1000)]
    runtime.release()


def checked(*, app=APP, inputs=(), binds=(), outputs=("Dear=out.csv",), **more):
    check_command(
        plan(without_connectors(parse(app))),
        app,
        inputs=read_inputs(None, None, inputs),
        binds=read_binds(None, None, binds),
        outputs=read_outputs(None, None, outputs),
        **{"streaming": False, **more},
    )


def test_a_command_line_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").touch()
    checked(inputs=["Trades=in.csv", "Trades=in.csv"])
    checked(
        binds=["Trades=csv:in.csv?timestamp=ts", "Trades=csv:s3://bucket/in?timestamp=at", "Trades=csv:*.c?timestamp=t"]
    )
    checked(binds=["Trades=csv:in.csv?timestamp=ts&watermark=0 seconds"], streaming=True)
    late = ["Dear=out.csv", "Trades__late=late.csv"]
    checked(binds=["Trades=csv:in.csv?timestamp=ts&watermark=1 day"], outputs=late, streaming=True, late="side")
    checked(app=WITH_TABLES, inputs=["Trades=in.csv"], outputs=["Prices=-"])
    checked(app=WITH_TABLES, inputs=["Trades=in.csv"], binds=["Names=csv:in.csv"], outputs=["Named=-"])


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"inputs": ["Trades=no.csv"]}, BadInput, "cannot read no.csv: no such file or folder"),
        ({"inputs": ["Trades=-"]}, click.UsageError, "--engine spark reads files, not standard input"),
        ({"inputs": ["Trades=in.csv"], "outputs": ["Dear=no/o.csv"]}, OutputFailed, "there is no folder no"),
        ({"inputs": ["Trades=in.csv"], "outputs": []}, click.UsageError, "nothing to write: give --output"),
        ({}, click.UsageError, "no stream has rows: give --input or --bind"),
        (
            {"binds": ["Dear=csv:in.csv?timestamp=t"], "outputs": ["Trades=-"]},
            click.UsageError,
            "--output Trades: stream 'Trades' is not bound",
        ),
        (
            {"inputs": ["Trades=in.csv"], "emit_timestamp": "price"},
            click.UsageError,
            "'price' is an attribute of an output",
        ),
        ({"inputs": ["Trades=in.csv"], "streaming": True}, click.UsageError, "a stream needs --bind, or a source"),
        (
            {"binds": [CSV], "streaming": True},
            click.UsageError,
            "--bind Trades has no watermark: add the delay of late rows, such as '&watermark=10 seconds'",
        ),
        (
            {"binds": [f"{CSV}&watermark=1 day"], "outputs": ["Dear=-"], "streaming": True},
            click.UsageError,
            "a stream writes folders of files, not standard output",
        ),
        (
            {"binds": [f"{CSV}&watermark=1 day", f"{CSV}&watermark=2 days"], "streaming": True},
            click.UsageError,
            "the binds of 'Trades' differ in watermark (1 day and 2 days): use one watermark per stream",
        ),
        (
            {"binds": ["Trade=csv:in.csv"]},
            click.UsageError,
            "no stream 'Trade' (streams: Trades, Dear); did you mean 'Trades'?",
        ),
        ({"binds": [f"{CSV}&heder=false"]}, click.UsageError, "no option 'heder' of csv files; did you mean 'header'?"),
        (
            {"binds": [f"{CSV}&maxFilesPerTrigger=x"]},
            click.UsageError,
            "--bind Trades: maxFilesPerTrigger is an integer of at least 1, not 'x'",
        ),
        ({"binds": [f"{CSV}&max.idle=1"]}, click.UsageError, "did you mean 'max_idle'?"),
    ],
)
def test_warnings_before_spark_starts(tmp_path, monkeypatch, given, error, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").touch()
    with pytest.raises(error) as told:
        checked(**given)
    assert message in told.value.message


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("from Trades#window.time(3 sec) select avg(price) as mean insert into Means;", "line 2, column 0"),
        ("from Trades#window.time(3 sec) select symbol, avg(price) as mean group by symbol insert into Means;", None),
    ],
)
def test_strict_refuses_single_shards(tmp_path, text, place):
    app = tmp_path / "app.siddhi"
    app.write_text(f"define stream Trades (symbol string, price double);\n{text}")
    result = CliRunner().invoke(siddhi, ["run", str(app), "--engine", "spark", "--explain", "--strict"])
    if place is None:
        assert (result.exit_code, "64 shards" in result.output) == (0, True)
    else:
        assert result.exit_code == 1
        assert place in result.output
        assert "query_1 runs on one shard" in result.output
        assert "hint: partition by a key" in result.output
    without = CliRunner().invoke(siddhi, ["run", str(app), "--engine", "spark", "--explain"])
    assert without.exit_code == 0


SINK = "@sink(type='file', file.uri='{}', @map(type='csv')) define stream Dear (symbol string, price double);"
SOURCE = (
    "@source(type='file', file.uri='{}', timestamp='ts', @map(type='csv')) define stream More (ts long, price double);"
)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"binds": [CSV], "outputs": ["Dear=in.csv"]}, "in.csv is both input and output"),
        ({"binds": [CSV], "outputs": ["Dear=x/../in.csv"]}, "x/../in.csv is both input and output"),
        (
            {"binds": ["Trades=csv:in?timestamp=t"], "outputs": ["Dear=in/o.csv"]},
            "output in/o.csv lies within input in:",
        ),
        ({"binds": ["Trades=csv:*.csv?timestamp=t"]}, "out.csv is both input and output"),
        (
            {
                "inputs": ["Trades=in/a.csv"],
                "binds": ["Names=csv:in.csv"],
                "outputs": ["Named=in.csv"],
                "app": WITH_TABLES,
            },
            "in.csv is both input and output",
        ),
        (
            {"binds": ["Trades=csv:in?timestamp=t&watermark=1 day"], "outputs": ["Dear=in/o.csv"], "streaming": True},
            "output in/o.csv lies within input in:",
        ),
        ({"binds": [CSV], "outputs": [], "app": f"{SINK.format('.')} {APP}"}, "output . contains input in.csv:"),
        (
            {"binds": [CSV], "outputs": ["Dear=in/o.csv"], "app": f"{SOURCE.format('in')} {APP}"},
            "lies within input in:",
        ),
    ],
)
def test_an_output_that_is_an_input_is_refused(tmp_path, monkeypatch, given, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    for name in ("in.csv", "in/a.csv"):
        (tmp_path / name).touch()
    with pytest.raises(click.UsageError) as told:
        checked(**given)
    assert message in told.value.message


def test_outputs_beside_inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").touch()
    checked(inputs=["Trades=in/a.csv"], outputs=["Dear=in/b.csv", "Dear=-"])
    checked(binds=["Trades=csv:in?timestamp=t"], outputs=["Dear=in.csv"])
    # Neither a source of a stream that is bound, nor a sink where there is an output.
    own = f"""{SOURCE.format("out.csv")} {SINK.format("in/a.csv")}
    from More select 'A' as symbol, price insert into Dear;"""
    checked(app=own, binds=["More=csv:in/a.csv?timestamp=t"], outputs=["Dear=out.csv"])


@pytest.mark.parametrize(
    ("binds", "message"),
    [
        ([], "table 'Names' has no rows, and no query writes it: add --bind 'Names=csv:path'"),
        (["Names=csv:in.csv?timestamp=ts"], "--bind Names: a table takes no timestamp"),
        (["Names=csv:in.csv", "Seen=csv:in.csv"], "--bind Seen: the app writes this table"),
        (["Nam=csv:in.csv"], "no stream or table 'Nam' (streams: Trades, Named, Prices; tables: Names, Seen)"),
    ],
)
def test_tables_on_the_command_line(binds, message):
    with pytest.raises(click.UsageError) as told:
        checked(app=WITH_TABLES, inputs=["Trades=in.csv"], binds=binds, outputs=["Named=-"])
    assert message in told.value.message


@pytest.mark.parametrize(
    "text", ["available-now", "5 seconds", "1 minute 30 seconds", "0.5 seconds", "INTERVAL 1 hour"]
)
def test_triggers(text):
    assert read_trigger(None, None, text) == text


@pytest.mark.parametrize(
    "text", ["local", "local[4]", "local[*]", "local[2, 3]", "spark://host:7077", "yarn", "k8s://https://h"]
)
def test_masters(text):
    assert read_master(None, None, text) == text
