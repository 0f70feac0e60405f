"""``siddhi run``: input files, output files, and exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.cli.conftest import Command

Write = Callable[[str, str], None]

ALERTS = """
define stream Trades (symbol string, price double, volume int);
@info(name = 'large') from Trades[price > 100.0] select symbol, price, volume insert into Alerts;
"""
LAST_SECOND = """
define stream Trades (symbol string, volume int);
from Trades#window.time(1 sec) select symbol, sum(volume) as total insert into Totals;
"""
TRADES = [("A", 99.5, 1), ("B", 100.5, 2), ("C", None, 3), ("D", 700.25, None), (None, 101.0, 5)]
OVER_100 = [("B", 100.5, 2), ("D", 700.25, None), (None, 101.0, 5)]


def make_file(name: str, rows: list[tuple[Any, ...]], columns: list[str]) -> None:
    table = pd.DataFrame(rows, columns=columns).convert_dtypes()
    match Path(name).suffix:
        case ".csv":
            table.to_csv(name, index=False)
        case ".jsonl":
            table.to_json(name, orient="records", lines=True)
        case ".parquet":
            table.to_parquet(name)


def rows_of(name: str) -> list[tuple[Any, ...]]:
    match Path(name).suffix:
        case ".csv":
            table = pd.read_csv(name, dtype_backend="numpy_nullable")
        case ".jsonl":
            table = pd.read_json(name, lines=True, dtype_backend="numpy_nullable")
        case _:
            table = pd.read_parquet(name, dtype_backend="numpy_nullable")
    return [tuple(None if value is pd.NA else value for value in row) for row in table.itertuples(index=False)]


def json_rows(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def app(write: Write) -> str:
    write("app.siddhi", ALERTS)
    return "app.siddhi"


@pytest.mark.parametrize("source", ["in.csv", "in.jsonl", "in.parquet"])
@pytest.mark.parametrize("target", ["out.csv", "out.jsonl", "out.parquet"])
def test_all_formats_give_the_same_events(command: Command, app: str, source: str, target: str) -> None:
    make_file(source, TRADES, ["symbol", "price", "volume"])
    result = command("run", app, "--input", f"Trades={source}", "--output", f"Alerts={target}")
    assert result.exit_code == 0, result.output
    assert rows_of(target) == OVER_100
    assert "Trades: 5 events in" in result.stderr
    assert f"Alerts: 3 events out to {target}" in result.stderr
    assert "events/s" in result.stderr


def test_a_dash_prints_only_json_lines(command: Command, app: str, write: Write) -> None:
    write("in.csv", "symbol,price,volume\nA,100.5,1\nB,1,2\n")
    result = command("run", app, "--input", "Trades=in.csv", "--output", "Alerts=-")
    assert result.stdout == '{"symbol":"A","price":100.5,"volume":1}\n'


def test_streams_that_share_standard_output_are_named(command: Command, app: str, write: Write) -> None:
    write("in.csv", "symbol,price,volume\nA,100.5,1\nB,1,2\n")
    result = command("run", app, "--input", "Trades=in.csv", "--output", "Alerts=-", "--output", "Trades=-")
    rows = json_rows(result.stdout)
    assert [row["symbol"] for row in rows if row["_stream"] == "Trades"] == ["A", "B"]
    assert [row["symbol"] for row in rows if row["_stream"] == "Alerts"] == ["A"]


def test_app_and_events_from_standard_input(command: Command, app: str, write: Write) -> None:
    line = '{"symbol":"A","price":101,"volume":1}\n'
    result = command("run", app, "--input", "Trades=-", "--output", "Alerts=-", stdin=line * 3)
    assert json_rows(result.stdout) == [{"symbol": "A", "price": 101.0, "volume": 1}] * 3
    write("in.jsonl", line)
    result = command("run", "-", "--input", "Trades=in.jsonl", "--output", "Alerts=-", stdin=ALERTS)
    assert len(json_rows(result.stdout)) == 1


def test_quiet_prints_nothing(command: Command, app: str, write: Write) -> None:
    write("in.csv", "symbol,price,volume\nA,100.5,1\n")
    result = command("run", app, "-q", "--input", "Trades=in.csv", "--output", "Alerts=out.csv")
    assert (result.exit_code, result.output) == (0, "")


def test_with_a_timestamp_column_the_clock_follows_the_events(command: Command, write: Write) -> None:
    write("app.siddhi", LAST_SECOND)
    write("in.csv", "symbol,volume,at\nA,1,1000\nB,2,1500\nC,4,2000\nD,8,9000\n")
    arguments = ["run", "app.siddhi", "--input", "Trades=in.csv", "--output", "Totals=-", "--timestamp", "at"]
    result = command(*arguments, "--emit-timestamp", "time")
    assert json_rows(result.stdout) == [
        {"time": 1000, "symbol": "A", "total": 1},
        {"time": 1500, "symbol": "B", "total": 3},
        {"time": 2000, "symbol": "C", "total": 6},  # A is exactly a second old and has left
        {"time": 9000, "symbol": "D", "total": 8},
    ]


@pytest.mark.parametrize(("clock", "expired"), [("", 2_000), ("@app:playback ", 9_000)])
def test_timers_run_at_their_own_time_unless_siddhi_mode_is_set(
    command: Command, write: Write, clock: str, expired: int
) -> None:
    query = "define stream S (v int); from S#window.time(1 sec) select v insert expired events into O;"
    write("app.siddhi", clock + query)
    write("in.csv", "v,at\n1,1000\n2,9000\n")
    arguments = ["run", "app.siddhi", "--input", "S=in.csv", "--output", "O=-", "--timestamp", "at"]
    assert json_rows(command(*arguments, "--emit-timestamp", "t").stdout) == [{"t": expired, "v": 1}]


@pytest.mark.parametrize("rows", [1, 100])
@pytest.mark.parametrize("attributes", ["v int", "v int, at long"])
@pytest.mark.parametrize("name", ["in.csv", "in.jsonl"])
def test_an_out_of_range_time_is_an_error(
    command: Command, write: Write, name: str, attributes: str, rows: int
) -> None:
    write("app.siddhi", f"define stream S ({attributes}); from S select v insert into O;")
    times = [*range(1, rows), 2**62 + 1]
    if name.endswith("csv"):
        write(name, "v,at\n" + "".join(f"1,{time}\n" for time in times))
    else:
        write(name, "".join(json.dumps({"v": 1, "at": time}) + "\n" for time in times))
    result = command("run", "app.siddhi", "--input", f"S={name}", "--output", "O=-", "--timestamp", "at")
    assert result.exit_code == 3
    assert f"{name}, line {rows + name.endswith('csv')}, column 'at': {2**62 + 1} is out of range" in result.stderr
    assert command("run", "app.siddhi", "--input", f"S={name}", "--until", str(2**62 + 1)).exit_code == 2


def test_without_playback_past_events_expire_immediately(command: Command, write: Write) -> None:
    write("app.siddhi", LAST_SECOND)
    write("in.csv", "symbol,volume,at\nA,1,1000\nB,2,1500\nC,4,2000\n")
    arguments = ["run", "app.siddhi", "--input", "Trades=in.csv", "--output", "Totals=-", "--timestamp", "at"]
    result = command(*arguments, "--no-playback")
    assert [row["total"] for row in json_rows(result.stdout)] == [1, 2, 4]


def test_a_time_may_be_text_and_an_attribute(command: Command, write: Write) -> None:
    write(
        "app.siddhi",
        "define stream S (day string, v int); from S#window.time(36 hours) select day, sum(v) as s insert into O;",
    )
    write("in.csv", "day,v\n2013-03-04,1\n2013-03-05,2\n2013-03-06,4\n")
    result = command("run", "app.siddhi", "--input", "S=in.csv", "--output", "O=-", "--timestamp", "day")
    assert [row["s"] for row in json_rows(result.stdout)] == [1, 3, 6]


def test_until_sets_a_time_after_the_last_event(command: Command, write: Write) -> None:
    write("app.siddhi", "define stream S (v int); from S#window.timeBatch(1 min) select sum(v) as s insert into O;")
    write("in.csv", "at,v\n2013-03-04T00:00:00Z,1\n2013-03-04T00:00:59Z,2\n")
    arguments = ["run", "app.siddhi", "--input", "S=in.csv", "--output", "O=-", "--timestamp", "at", "--until"]
    assert json_rows(command(*arguments, "2013-03-04T00:01:00Z").stdout) == [{"s": 3}]
    assert json_rows(command(*arguments, "2013-03-04T00:00:59.999Z").stdout) == []


def test_inputs_are_merged_by_time(command: Command, write: Write) -> None:
    write(
        "app.siddhi",
        "define stream A (v int); define stream B (v int);"
        "from A select 'a' as s, v insert into O; from B select 'b' as s, v insert into O;",
    )
    write("a.csv", "at,v\n1,1\n" + "".join(f"{2 * n},{n}\n" for n in range(1, 300)))
    write("b.jsonl", "".join(json.dumps({"at": 2 * n + 1, "v": n}) + "\n" for n in range(1, 300)))
    result = command(
        *["run", "app.siddhi", "--input", "A=a.csv", "--input", "B=b.jsonl", "--output", "O=-"],
        *["--timestamp", "at", "--emit-timestamp", "t"],
    )
    rows = json_rows(result.stdout)
    assert [row["t"] for row in rows] == sorted(row["t"] for row in rows)
    assert len(rows) == 599
    assert [row["s"] for row in rows[:5]] == ["a", "a", "b", "a", "b"]


def test_files_of_one_stream_are_read_in_order(command: Command, app: str, write: Write) -> None:
    write("monday.csv", "symbol,price,volume\nA,101,1\n")
    write("tuesday.csv", "volume,symbol,price\n2,B,102\n")
    result = command(
        "run", app, "--input", "Trades=monday.csv", "--input", "Trades=tuesday.csv", "--output", "Alerts=-"
    )
    assert [row["symbol"] for row in json_rows(result.stdout)] == ["A", "B"]
    assert "Trades: 2 events in" in result.stderr


def test_a_large_input_is_read_in_batches(command: Command, app: str, tmp_path: Path) -> None:
    rows = 200_000
    table = pd.DataFrame({"symbol": ["A", "B"] * (rows // 2), "price": range(rows), "volume": range(rows)})
    table.to_csv("in.csv", index=False)
    result = command("run", app, "--input", "Trades=in.csv", "--output", "Alerts=out.csv")
    assert f"Alerts: {rows - 101:,} events out" in result.stderr
    written = pd.read_csv("out.csv")
    assert written["volume"].tolist() == list(range(101, rows))


@pytest.mark.parametrize("target", ["out.csv", "out.jsonl", "out.parquet"])
def test_objects_are_written_as_json(command: Command, write: Write, target: str) -> None:
    write(
        "app.siddhi",
        "define stream S (s string, v int);"
        "from S#window.length(2) select v, unionSet(createSet(s)) as seen insert into O;",
    )
    write("in.csv", "s,v\na,1\nb,\n")
    result = command("run", "app.siddhi", "--input", "S=in.csv", "--output", f"O={target}", "--emit-timestamp", "t")
    assert result.exit_code == 0, result.output
    assert [row[1] for row in rows_of(target)] == [1, None]
    seen = [row[2] for row in rows_of(target)]
    assert seen == ([["a"], ["a", "b"]] if target == "out.jsonl" else ['["a"]', '["a", "b"]'])


def test_an_invalid_app_is_an_error_with_its_location(command: Command, write: Write) -> None:
    write("app.siddhi", "define stream S (price double);\nfrom S[prize > 1.0] select price insert into O;\n")
    write("in.csv", "price\n1\n")
    result = command("run", "app.siddhi", "--input", "S=in.csv")
    assert result.exit_code == 1
    assert "2 | from S[prize > 1.0]" in result.stderr
    assert "^^^^^" in result.stderr
    assert "did you mean 'price'?" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--input"),
        (["--input", "in.csv"], "'in.csv': expected Stream=file, for example Trades=trades.csv"),
        (["--input", "Trades=in.txt"], "expected a name ending in .csv, .jsonl, .parquet"),
        (
            ["--input", "Trades=in.csv", "--output", "Alerts=out.csv.gz"],
            "expected a name ending in .csv, .jsonl, .parquet",
        ),
        (
            ["--input", "Trade=in.csv"],
            "the app has no stream 'Trade' (streams: Trades, Alerts); did you mean 'Trades'?",
        ),
        (
            ["--input", "Trades=in.csv", "--output", "Alert=-"],
            "'Alert' (streams: Trades, Alerts); did you mean 'Alerts'?",
        ),
        (["--input", "Trades=-", "--input", "Trades=-"], "standard input can only be read once"),
        (["--input", "Trades=in.csv", "--output", "Alerts=in.csv"], "both input and output"),
        (
            ["--input", "Trades=in.csv", "--output", "Alerts=o.csv", "--output", "Trades=o.csv"],
            "more than one --output",
        ),
        (
            ["--input", "Trades=in.csv", "--output", "Alerts=-", "--emit-timestamp", "price"],
            "'price': an output has an attribute",
        ),
        (["--input", "Trades=in.csv", "--until", "noon"], "'noon' is not a time"),
        (["--input", "Trades=in.csv", "--until", "5"], "--until requires a clock that follows the events"),
        (["--input", "Trades=in.csv", "--on-bad-line", "panic"], "'panic' is not one of 'fail', 'skip'"),
    ],
)
def test_invalid_options_are_refused(command: Command, app: str, write: Write, arguments: list[str], said: str) -> None:
    write("in.csv", "symbol,price,volume\n")
    result = command("run", app, *arguments)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert not Path("out.csv").exists()


def test_a_missing_app_is_an_error(command: Command, write: Write) -> None:
    write("in.csv", "symbol,price,volume\n")
    result = command("run", "none.siddhi", "--input", "Trades=in.csv")
    assert result.exit_code == 2
    assert "cannot read the app none.siddhi: No such file or directory" in result.stderr


def test_a_missing_column_ends_the_run_before_outputs_are_opened(command: Command, app: str, write: Write) -> None:
    write("in.csv", "symbol,prize,volume\nA,1,1\n")
    write("out.csv", "precious")
    result = command("run", app, "--input", "Trades=in.csv", "--output", "Alerts=out.csv")
    assert result.exit_code == 3
    assert "in.csv has no column 'price' for stream 'Trades'" in result.stderr
    assert "did you mean 'prize'?" in result.stderr
    assert Path("out.csv").read_text() == "precious"


def test_a_bad_line_ends_the_run_after_the_lines_before_it(command: Command, app: str, write: Write) -> None:
    write("in.csv", "symbol,price,volume\nA,101,1\nB,much,2\nC,103,3\n")
    result = command("run", app, "--input", "Trades=in.csv", "--output", "Alerts=out.csv")
    assert result.exit_code == 3
    assert "in.csv, line 3, column 'price': 'much' is not a double" in result.stderr
    assert rows_of("out.csv") == [("A", 101.0, 1)]
    assert "Trades: 1 events in" in result.stderr


def test_bad_lines_can_be_skipped_and_are_counted(command: Command, app: str, write: Write) -> None:
    write("in.csv", "symbol,price,volume\nA,101,1\nB,much,2\nC,103,3\n")
    result = command("run", app, "--input", "Trades=in.csv", "--output", "Alerts=out.csv", "--on-bad-line", "skip")
    assert result.exit_code == 0
    assert "skipped: in.csv, line 3, column 'price': 'much' is not a double" in result.stderr
    assert "1 bad lines skipped" in result.stderr
    assert [row[0] for row in rows_of("out.csv")] == ["A", "C"]


def test_an_output_that_cannot_be_created_is_an_error(command: Command, app: str, write: Write) -> None:
    write("in.csv", "symbol,price,volume\nA,101,1\n")
    result = command("run", app, "--input", "Trades=in.csv", "--output", "Alerts=none/out.csv")
    assert result.exit_code == 4
    assert "cannot write none/out.csv: No such file or directory" in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("target", ["out.csv", "out.jsonl", "out.parquet"])
def test_an_output_that_cannot_be_written_is_an_error(command: Command, app: str, target: str) -> None:
    make_file("in.csv", [("A", 101.0, 1)] * 100_000, ["symbol", "price", "volume"])
    Path(target).symlink_to("/dev/full")
    result = command("run", app, "--input", "Trades=in.csv", "--output", f"Alerts={target}")
    assert result.exit_code == 4
    assert f"cannot write {target}: No space left on device" in result.stderr


def test_an_app_that_fails_on_events_ends_the_run(command: Command, write: Write) -> None:
    write("app.siddhi", "define stream S (v int, b bool); from S select v, and(b) as every insert into O;")
    write("in.csv", "v,b\n1,true\n2,\n3,\n4,true\n")
    result = command("run", "app.siddhi", "--input", "S=in.csv", "--output", "O=-")
    assert result.exit_code == 5
    assert "the app failed on events" in result.stderr
    assert [row["v"] for row in json_rows(result.stdout)] == [1, 4]


HELD = "define stream S (v int); @info(name = 'q') from S#window.timeBatch(1 min) select sum(v) as s insert into O;"


def test_until_the_end_lets_no_event_wait(command: Command, write: Write) -> None:
    write("app.siddhi", HELD)
    write("in.csv", "at,v\n2013-03-04T00:00:00Z,1\n2013-03-04T00:00:59Z,2\n")
    arguments = ["run", "app.siddhi", "--input", "S=in.csv", "--output", "O=-", "--timestamp", "at"]
    result = command(*arguments, "--until", "end")
    assert json_rows(result.stdout) == [{"s": 3}]
    assert "holds events" not in result.stderr
    result = command(*arguments)
    assert result.stdout == ""
    assert (
        "query 'q' holds events until 2013-03-04T00:01:00.000+00:00: use --until end, or --until with a time"
        in result.stderr
    )


def test_timers_without_an_end_are_an_error_of_until_end(command: Command, write: Write) -> None:
    write("app.siddhi", "define stream S (v int); define trigger T at every 1 sec; from T select 1 as a insert into O;")
    write("in.csv", "at,v\n1,1\n")
    result = command("run", "app.siddhi", "--input", "S=in.csv", "--timestamp", "at", "--until", "end")
    assert result.exit_code == 5
    assert "--until end: the timers of app" in result.stderr
