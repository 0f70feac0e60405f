"""``siddhi run --engine spark`` on a session has the rows of the same command without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from click.testing import CliRunner

from siddhi.cli.command import siddhi

pytestmark = pytest.mark.spark
APP = """define stream Trades (ts long, symbol string, price double, n int);
from Trades[price > 2.0] select symbol, n insert into Dear;
partition with (symbol of Trades) begin
    from every a=Trades, b=Trades[price > a.price] select a.symbol as symbol, a.n as first, b.n as last insert into Rises;
end;
"""


@pytest.fixture
def masters(spark, monkeypatch):
    """The masters requested; the session is that of all tests, and is not stopped."""
    found = []
    monkeypatch.setattr("siddhi.spark.local_session", lambda master, **_: found.append(master) or spark, raising=False)
    monkeypatch.setattr(type(spark), "stop", lambda self: found.append("stopped"))
    return found


def run(*arguments: str) -> str:
    result = CliRunner().invoke(siddhi, ["run", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_files_are_read_and_written(masters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.siddhi").write_text(APP)
    lines = [f"{1000 + 100 * n},{'AB'[n % 3 == 0]},{n * 7 % 5}.5,{n}" for n in range(40)]
    (tmp_path / "trades.csv").write_text("\n".join(["ts,symbol,price,n", *lines, "6000,A,,41"]) + "\n")
    common = ["app.siddhi", "--input", f"Trades={tmp_path}/trades.csv", "--timestamp", "ts", "--emit-timestamp", "at"]
    run(*common, "--output", "Rises=want-rises.csv", "--output", "Dear=want-dear.jsonl")
    spark = ["--engine", "spark", "--master", "local[2]", "--shards", "3"]
    told = run(*common, *spark, "--output", "Rises=rises.csv", "--output", "Dear=dear.jsonl")
    assert masters == ["local[2]", "stopped"]
    for name in ("rises.csv", "dear.jsonl"):
        want, got = ((tmp_path / file).read_text().splitlines() for file in (f"want-{name}", name))
        assert len(want) > 10
        assert (got[0], sorted(got)) == (want[0], sorted(want))
        assert [line.split(",")[0] for line in got] == [line.split(",")[0] for line in want]
    assert f"Rises: {len((tmp_path / 'rises.csv').read_text().splitlines()) - 1} events out to rises.csv" in told


def test_a_stream_of_files_continues(masters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "app.siddhi").write_text(
        f"""@app:name('Dear')
        @source(type = 'file', file.uri = '{tmp_path}/in', timestamp = 'ts', watermark = '1 second', @map(type = 'csv'))
        define stream Trades (ts long, price double);
        @sink(type = 'file', file.uri = '{tmp_path}/out', @map(type = 'csv'))
        define stream Dear (price double);
        from Trades[price > 2.0] select price insert into Dear;"""
    )
    arguments = [
        "app.siddhi",
        "--engine",
        "spark",
        "--master",
        "local[2]",
        "--checkpoint",
        str(tmp_path / "checkpoint"),
    ]
    for n, text in enumerate(["1000,1.5\n2000,2.5\n", "3000,3.5\n"]):
        (tmp_path / "in" / f"{n}.csv").write_text(f"ts,price\n{text}")
        told = run(*arguments)
        assert "0 late rows" in told
        assert "Dear: 1 events out" in told
    rows = [line for path in (tmp_path / "out").rglob("*.csv") for line in path.read_text().splitlines()]
    assert sorted(line.split(",")[0] for line in rows) == ["2.5", "3.5", "price", "price"]


def failing(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(siddhi, ["run", *arguments])
    return result.exit_code, " ".join(result.output.split())


def test_a_stream_is_ended_and_resumed(masters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    counts = "@info(name = 'counts') from Trades#window.timeBatch(1 sec, 0) select count() as n insert into Counts;"
    app = tmp_path / "app.siddhi"
    app.write_text(f"define stream Trades (price double);\n{counts}")
    bind = f"Trades=csv:{tmp_path}/in?timestamp=ts&watermark=1 second"
    arguments = [
        "app.siddhi",
        "--engine",
        "spark",
        "--shards",
        "2",
        "--bind",
        bind,
        "--output",
        f"Counts={tmp_path}/out.csv",
    ]
    arguments += ["--checkpoint", str(tmp_path / "checkpoint"), "--late", "drop"]

    def written() -> list[str]:
        found = [line for path in (tmp_path / "out.csv").rglob("*.csv") for line in path.read_text().splitlines()]
        return sorted(line.split(",")[0] for line in found if not line.startswith("n,"))

    def put(name: str, *times: int) -> None:
        (tmp_path / "in" / name).write_text("\n".join(["ts,price", *(f"{at},1.5" for at in times), ""]))

    put("0.csv", 100, 200, 1500)
    assert "Counts: 1 events out" in run(*arguments, "--finish")
    put("1.csv", 1600, 2500)
    code, told = failing(*arguments)
    assert (code, "is closed: its stream was finished; start with --reopen to continue it" in told) == (5, True)
    run(*arguments, "--reopen")
    more = (
        "from Trades select price insert into Prices; from Trades#window.lengthBatch(9) select price insert into Nines;"
    )
    app.write_text(f"{app.read_text()}\n{more}")
    more_output = ["--output", f"Nines={tmp_path}/nines.parquet"]
    code, told = failing(*arguments, *more_output)
    assert (code, "start with --evolve to accept this" in told) == (5, True)
    more_output += ["--output", f"Counts={tmp_path}/again.csv"]
    run(*arguments, *more_output, "--finish", "--evolve", "--end-of-input", "flush")
    assert written() == ["1", "2", "2"]
    again = [line for path in (tmp_path / "again.csv").rglob("*.csv") for line in path.read_text().splitlines()]
    assert sorted(line.split(",")[0] for line in again if line[0] != "n") == ["1", "2"]


def test_invalid_rows_are_reported_as_without_spark(masters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.siddhi").write_text(APP)
    (tmp_path / "trades.csv").write_text('ts,symbol,price,n\n1000,A,3.5,1\n1100,"A\nB",x,2\n')
    common = [
        "app.siddhi",
        "--input",
        f"Trades={tmp_path}/trades.csv",
        "--timestamp",
        "ts",
        "--output",
        "Dear=dear.jsonl",
    ]
    for engine, place in (("embedded", f"{tmp_path}/trades.csv, line 3"), ("spark", f"{tmp_path}/trades.csv")):
        code, told = failing(*common, "--engine", engine)
        assert (code, f"{place}, column 'price': 'x' is not a double" in told) == (3, True)
    times = "ts,symbol,price,n\nyesterday,A,3.5,1\n"
    (tmp_path / "trades.csv").write_text(times)
    (tmp_path / "app.siddhi").write_text(APP.replace("ts long, ", ""))
    code, told = failing(*common, "--engine", "spark")
    assert (code, "column 'ts': 'yesterday' is not a time" in told) == (3, True)


def test_unsupported_binds_are_refused(masters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.siddhi").write_text("define stream Trades (n int); from Trades select n insert into Copy;")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.parquet").write_bytes(b"PAR1xxxx")
    common = ["app.siddhi", "--engine", "spark", "--output", "Copy=copy.csv", "--bind"]
    code, told = failing(*common, f"Trades=parquet:{tmp_path}/in?timestamp=ts")
    assert (code, "1.parquet is damaged, or not a parquet file" in told, "ORC" in told) == (3, True, False)
    pq.write_table(pa.table({"ts": [1], "n": pa.array([1], pa.int32())}), tmp_path / "in" / "0.parquet")
    code, told = failing(*common, f"Trades=parquet:{tmp_path}/in?timestamp=ts")
    assert (code, "1.parquet is damaged, or has another format" in told) == (3, True)
    code, told = failing(*common, "Trades=csv:s4://bucket/in?timestamp=ts")
    told = " ".join(told.replace("│", " ").split())
    assert (code, "s4://bucket/in can't be reached, as Spark lacks the file system of s4" in told) == (2, True)


def test_a_bind_is_not_overwritten(masters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.siddhi").write_text("define stream Trades (ts long); from Trades select ts insert into Copy;")
    (tmp_path / "trades.csv").write_text("ts\n1000\n")
    bind = ["app.siddhi", "--engine", "spark", "--bind", "Trades=csv:trades.csv?timestamp=ts"]
    code, told = failing(*bind, "--output", f"Copy={tmp_path}/trades.csv")
    assert (code, "/trades.csv is both input and output" in "".join(told.split("│"))) == (2, True)
    assert masters == []  # Spark was not started
    assert (tmp_path / "trades.csv").read_text() == "ts\n1000\n"


def test_a_sink_of_the_app_does_not_overwrite_rows_of_a_stream(masters, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.siddhi").write_text(
        f"""define stream Trades (ts long);
        @sink(type = 'file', file.uri = '{tmp_path}/out', @map(type = 'csv')) define stream Copy (ts long);
        from Trades select ts insert into Copy;"""
    )
    (tmp_path / "trades.csv").write_text("ts\n1000\n")
    bind = ["app.siddhi", "--engine", "spark", "--bind", f"Trades=csv:{tmp_path}/trades.csv?timestamp=ts"]
    (tmp_path / "out" / "batch=0").mkdir(parents=True)
    (tmp_path / "out" / "batch=0" / "0.csv").write_text("ts\n5\n")
    code, told = failing(*bind)
    assert (code, "belongs to a stream, whose rows a batch would delete" in told) == (5, True)
    assert (tmp_path / "out" / "batch=0" / "0.csv").read_text() == "ts\n5\n"


EXAMPLES = Path(__file__).parents[2] / "examples"


FLIGHTS = ["Departures", "AirportDelays", "Alerts", "CarrierAlerts", "DailyCancellations"]


@pytest.mark.parametrize(
    ("app", "data", "time", "streams"),
    [
        ("flight_delays/flight_delays.siddhi", "Flights=flights.csv", "ts", FLIGHTS),
        ("flight_delays/flight_delays.siddhi", "Flights=flights.parquet", "ts", FLIGHTS),
        ("stock_moving_average/moving_average.siddhi", "Bars=bars.csv", "date", ["Averages", "Breakouts", "Months"]),
    ],
)
@pytest.mark.filterwarnings("ignore:.* on one shard")
def test_examples_have_the_rows_of_the_embedded_engine(masters, tmp_path, monkeypatch, app, data, time, streams):
    """Many of their rows share a millisecond, so the order of the file counts."""
    monkeypatch.chdir(tmp_path)
    stream, _, name = data.partition("=")
    source = EXAMPLES / app.split("/")[0] / name
    if source.suffix == ".parquet":
        types = {name: pa.int32() for name in ("flight", "dep_delay", "distance")}
        table = pa_csv.read_csv(source.with_suffix(".csv"), convert_options=pa_csv.ConvertOptions(column_types=types))
        source = tmp_path / name
        pq.write_table(table, source)
    common = [str(EXAMPLES / app), "--input", f"{stream}={source}", "--timestamp", time, "--emit-timestamp", "at"]
    for folder, more in (("want", []), ("found", ["--engine", "spark", "--master", "local[2]"])):
        (tmp_path / folder).mkdir()
        outputs = [word for each in streams for word in ("--output", f"{each}={folder}/{each}.csv")]
        run(*common, *more, *outputs)
    for each in streams:
        want, found = ((tmp_path / folder / f"{each}.csv").read_text().splitlines() for folder in ("want", "found"))
        assert len(want) > 5, each
        assert sorted(found) == sorted(want), each
