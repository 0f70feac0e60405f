"""``siddhi run`` with temporal streams, and with streams that correct late events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.test_run import Write, json_rows, make_file, rows_of

TIMED = "@temporal(model = 'point', policy = '{}'{}) define stream S (id int, value int{});"
BOUND = ", bound = '1 min'"
SUMS = " from S#window.{} select id, sum(value) as total insert into O;"
ROWS = [(1000, 1, 1), (3000, 2, 2), (2000, 3, 4)]  # the last one is late


def times(rows: Sequence[tuple[int, ...]], shape: str) -> list[tuple[object, ...]]:
    """Return rows with their time in ms or as text, as an input has it."""
    return [(time if shape == "ms" else f"1970-01-01T00:00:0{time // 1000}Z", *rest) for time, *rest in rows]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("shape", ["ms", "text"])
@pytest.mark.parametrize("count", [1, 20])  # single rows, and a batch
def test_late_events_of_an_input_correct_the_output(
    command: Command, write: Write, suffix: str, shape: str, count: int
) -> None:
    write("app.siddhi", TIMED.format("correct", BOUND, "") + SUMS.format("length(2)"))
    make_file(f"s{suffix}", times(ROWS * count, shape), ["ts", "id", "value"])
    result = command("run", "app.siddhi", "--timestamp", "ts", "--input", f"S=s{suffix}", "--output", "O=o.csv")
    assert result.exit_code == 0
    if count == 1:
        assert rows_of("o.csv")[2:] == [(2, 3, "delete"), (3, 5, "insert"), (2, 6, "insert")]
    kept: Counter[object] = Counter()
    for *row, op in rows_of("o.csv"):
        kept[tuple(row)] += 1 if op == "insert" else -1
    ordered = sorted(ROWS * count)
    sums = Counter((id_, value + (ordered[at - 1][2] if at else 0)) for at, (_, id_, value) in enumerate(ordered))
    assert +kept == sums


@pytest.mark.parametrize("policy", ["error", "drop", "adjust"])
def test_the_input_of_a_point_stream_ends_with_until_end(command: Command, write: Write, policy: str) -> None:
    write("app.siddhi", TIMED.format(policy, "", "") + SUMS.format("tumbling(2 sec)").replace("id, ", ""))
    make_file("s.csv", ROWS, ["ts", "id", "value"])
    run = ("run", "app.siddhi", "--timestamp", "ts", "--input", "S=s.csv", "--output", "O=-")
    result = command(*run)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "S: what no CTI has released is not in the output: use --until end" in result.stderr
    result = command(*run, "--until", "2000")
    assert json_rows(result.stdout) == [{"total": 1, "_end": 2001}]
    result = command(*run, "--until", "end")
    assert [row["total"] for row in json_rows(result.stdout)] == [1, 6]
    assert "no CTI" not in result.stderr


@pytest.mark.parametrize("option", [(), ("--timestamp", "ts")])
def test_times_in_attributes_are_used(command: Command, write: Write, option: tuple[str, ...]) -> None:
    declared = "@temporal(start = 'ts', end = 'te') define stream S (ts long, te long);"
    write("app.siddhi", declared + " from S#window.snapshot() select count() as n insert into O;")
    make_file("s.csv", [(1000, 1500), (3000, 3500), (2000, 4000)], ["ts", "te"])
    result = command(
        "run",
        "app.siddhi",
        *option,
        "--input",
        "S=s.csv",
        "--until",
        "end",
        "--output",
        "O=-",
        "--emit-timestamp",
        "at",
    )
    assert [(row["at"], row["n"]) for row in json_rows(result.stdout)] == [(1000, 1), (2000, 1), (3000, 2), (3500, 1)]


def test_late_events_that_are_dropped_are_counted_in_the_summary(command: Command, write: Write) -> None:
    write("app.siddhi", TIMED.format("correct", ", bound = '500 millisec'", "") + SUMS.format("length(2)"))
    make_file("s.csv", ROWS, ["ts", "id", "value"])
    result = command("run", "app.siddhi", "--timestamp", "ts", "--input", "S=s.csv")
    assert "S: 3 events in\nS: 1 late events dropped\n" in result.stderr


def test_a_late_event_that_the_stream_refuses_ends_the_run(command: Command, write: Write) -> None:
    write("app.siddhi", TIMED.format("error", ", @advance(count = '2')", "") + SUMS.format("tumbling(1 sec)"))
    Path("app.siddhi").write_text(Path("app.siddhi").read_text(encoding="utf-8").replace("id, ", ""), encoding="utf-8")
    make_file("s.csv", ROWS, ["ts", "id", "value"])
    result = command("run", "app.siddhi", "--timestamp", "ts", "--input", "S=s.csv")
    assert result.exit_code == 3
    assert "before the current CTI 3000" in result.stderr


@pytest.mark.parametrize(
    ("stream", "options", "words"),
    [
        (TIMED.format("correct", BOUND, ""), (), "stream 'S' needs the times of its events: add --timestamp COLUMN"),
        (TIMED.format("drop", "", ""), (), "stream 'S' needs the times of its events: add --timestamp COLUMN"),
        (
            TIMED.format("correct", BOUND + ", start = 'at'", ", at long"),
            ("--timestamp", "ts"),
            "use --timestamp at instead of ts",
        ),
        (
            "@temporal define stream S (id int, value int);",
            ("--timestamp", "ts"),
            "declare the attributes that carry it",
        ),
        (
            TIMED.format("correct", BOUND, ""),
            ("--timestamp", "ts", "--no-playback"),
            "its clock follows its events alone",
        ),
    ],
)
def test_inputs_without_the_times_of_their_stream_are_refused(
    command: Command, write: Write, stream: str, options: tuple[str, ...], words: str
) -> None:
    write("app.siddhi", stream + " from S select id insert into O;")
    make_file("s.csv", ROWS, ["ts", "id", "value"])
    result = command("run", "app.siddhi", *options, "--input", "S=s.csv")
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


def test_an_attribute_named_as_the_column_of_corrections_is_refused(command: Command, write: Write) -> None:
    write("app.siddhi", TIMED.format("correct", BOUND, "") + " from S select id as _op insert into O;")
    make_file("s.csv", ROWS, ["ts", "id", "value"])
    result = command("run", "app.siddhi", "--timestamp", "ts", "--input", "S=s.csv", "--output", "O=-")
    assert result.exit_code == 2
    assert "would have two columns '_op'" in result.stderr


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_outputs_of_lifetimes_have_their_ends(command: Command, write: Write, suffix: str) -> None:
    declared = "@temporal(model = 'edge', start = 'ts', end = 'te') define stream S (id int, ts long, te long);"
    write(
        "app.siddhi",
        declared + "@temporal(model = 'edge') define stream Edges (id int); from S select id insert into Edges;"
        "from S[id < 3] select id, createSet(id) as all insert into Intervals;",
    )
    make_file("s.csv", [(1, 1000, 1500), (2, 3000, None), (3, 2000, 4000)], ["id", "ts", "te"])
    outputs = [f"--output={stream}={stream}{suffix}" for stream in ("Edges", "Intervals")]
    result = command("run", "app.siddhi", "--input", "S=s.csv", "--until", "end", *outputs, "--emit-timestamp", "at")
    assert result.exit_code == 0
    assert rows_of(f"Edges{suffix}") == [
        (1000, 1, None),
        (1000, 1, 1500),
        (2000, 3, None),
        (3000, 2, None),
        (2000, 3, 4000),
    ]
    assert [(row[0], row[1], row[-1]) for row in rows_of(f"Intervals{suffix}")] == [
        (1000, 1, 1500),
        (3000, 2, 9223372036854775807),
    ]
