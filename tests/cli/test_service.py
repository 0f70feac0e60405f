"""``siddhi run`` without inputs: sources, sinks, triggers and saved state until a signal."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Command

WAIT = 60  # seconds until a test that hangs fails

COUNTER = """@app:name('Counter')
@source(type = 'file', file.uri = 'in.jsonl', tailing = 'true', file.polling.interval = '20', @map(type = 'json'))
define stream S (v int);
@sink(type = 'file', file.uri = 'out.jsonl', @map(type = 'json'))
define stream Totals (total long);
from S select sum(v) as total insert into Totals;
"""
TICKS = "define trigger Tick at every 20 milliseconds; from Tick select 1 as one insert into Ones;"


@contextmanager
def running(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run the command in a process of its own; end it afterwards."""
    # A shell that runs tests in the background ignores SIGINT, and child processes inherit that.
    code = "import signal, siddhi.cli; signal.signal(signal.SIGINT, signal.default_int_handler); siddhi.cli.main()"
    command = [sys.executable, "-c", code, *arguments]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=WAIT)


def stop(process: subprocess.Popen[str], number: int = signal.SIGINT) -> str:
    """Send a signal, and return what the command printed as errors."""
    process.send_signal(number)
    error = process.communicate(timeout=WAIT)[1]
    assert process.returncode == 0, error
    return error


def wait_for_lines(path: Path, count: int, process: subprocess.Popen[str]) -> list[int]:
    """Wait for a number of totals in a file."""
    deadline = time.monotonic() + WAIT
    while not (path.exists() and path.read_text().count("\n") >= count):
        assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return [json.loads(line)["event"]["total"] for line in path.read_text().splitlines()]


def append(path: Path, *values: int) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps({"event": {"v": value}}) + "\n" for value in values)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_app_runs_from_its_sources_until_a_signal(tmp_path: Path, number: int) -> None:
    (tmp_path / "app.siddhi").write_text(COUNTER)
    append(tmp_path / "in.jsonl", 1, 2)
    with running(tmp_path, "run", "app.siddhi") as process:
        assert wait_for_lines(tmp_path / "out.jsonl", 2, process) == [1, 3]
        append(tmp_path / "in.jsonl", 4)
        assert wait_for_lines(tmp_path / "out.jsonl", 3, process) == [1, 3, 7]
        error = stop(process, number)
    assert "app 'Counter' is running; Ctrl-C stops it" in error
    assert "3 events in" in error
    assert "3 events out" in error


def test_a_saved_state_is_continued_without_repetition(tmp_path: Path) -> None:
    (tmp_path / "app.siddhi").write_text(COUNTER)
    append(tmp_path / "in.jsonl", 1, 2)
    arguments = ("run", "app.siddhi", "--persist", "state", "--persist-every", "60", "-q")
    with running(tmp_path, *arguments) as process:
        wait_for_lines(tmp_path / "out.jsonl", 2, process)
        stop(process)
    append(tmp_path / "in.jsonl", 4)
    with running(tmp_path, *arguments) as process:
        assert wait_for_lines(tmp_path / "out.jsonl", 3, process) == [1, 3, 7]
        stop(process)
    assert len(list((tmp_path / "state" / "Counter").iterdir())) == 2


def test_a_trigger_is_enough_to_run(tmp_path: Path) -> None:
    (tmp_path / "app.siddhi").write_text(TICKS)
    with running(tmp_path, "run", "app.siddhi", "--output", "Ones=-") as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"one": 1}
        stop(process)


def test_a_configuration_names_connectors(tmp_path: Path) -> None:
    (tmp_path / "siddhi.yaml").write_text(
        "refs:\n  - ref:\n      name: input\n      type: file\n      properties:\n        file.uri: in.jsonl\n"
        "        tailing: true\n        file.polling.interval: 20\n"
    )
    of_file = "type = 'file', file.uri = 'in.jsonl', tailing = 'true', file.polling.interval = '20'"
    (tmp_path / "app.siddhi").write_text(COUNTER.replace(of_file, "ref = 'input'"))
    append(tmp_path / "in.jsonl", 5)
    with running(tmp_path, "run", "app.siddhi", "--config", "siddhi.yaml") as process:
        assert wait_for_lines(tmp_path / "out.jsonl", 1, process) == [5]
        stop(process)


def test_a_state_is_saved_under_a_name_that_lasts(command: Command, tmp_path: Path) -> None:
    (tmp_path / "app.siddhi").write_text("define trigger T at every 1 sec;")
    result = command("run", "app.siddhi", "--persist", "state")
    assert result.exit_code == 2
    assert "--persist needs a name of the app" in result.stderr


def test_an_app_without_source_and_trigger_needs_an_input(command: Command, tmp_path: Path) -> None:
    (tmp_path / "app.siddhi").write_text("define stream S (v int);")
    result = command("run", "app.siddhi")
    assert result.exit_code == 2
    assert "the app has no source and no trigger: add --input STREAM=FILE" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--timestamp", "ts"], "--timestamp requires --input"),
        (["--persist-every", "5"], "--persist-every requires --persist"),
        (["--persist", "state", "--input", "S=in.jsonl"], "--persist can't be combined with --input"),
        (["--engine", "spark", "--persist", "state"], "--engine spark does not support --persist"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(
    command: Command, tmp_path: Path, options: list[str], message: str
) -> None:
    (tmp_path / "app.siddhi").write_text(COUNTER)
    (tmp_path / "in.jsonl").write_text("")
    result = command("run", "app.siddhi", *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_source_that_can_not_be_used_ends_the_run(command: Command, tmp_path: Path) -> None:
    (tmp_path / "app.siddhi").write_text("@source(type = 'tcp', context = 'a') define stream S (v int);")
    (tmp_path / "siddhi.yaml").write_text(
        "extensions:\n  - extension:\n      namespace: source\n      name: tcp\n      properties: {port: many}\n"
    )
    result = command("run", "app.siddhi", "--config", "siddhi.yaml")
    assert result.exit_code == 1
    assert "invalid option 'port' of the configuration of source 'tcp': 'many'" in result.stderr


def test_the_end_of_all_sources_ends_the_command(tmp_path: Path) -> None:
    (tmp_path / "app.siddhi").write_text(
        "@source(type = 'stdin', @map(type = 'json'))\n"
        "@source(type = 'file', file.uri = 'in.jsonl', tailing = 'false', @map(type = 'json'))\n"
        "define stream S (v int);\n"
        "@sink(type = 'stdout', @map(type = 'json')) define stream Totals (total long);\n"
        "from S select sum(v) as total insert into Totals;\n"
    )
    append(tmp_path / "in.jsonl", 1, 2, 4)
    command = [sys.executable, "-c", "import siddhi.cli; siddhi.cli.main()", "run", "app.siddhi"]
    with (tmp_path / "in.jsonl").open() as given:
        done = subprocess.run(
            command, cwd=tmp_path, stdin=given, capture_output=True, text=True, timeout=WAIT, check=False
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"event": {"total": 14}}
    assert "6 events in" in done.stderr
