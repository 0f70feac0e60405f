"""The command as a process: signals, pipes, and the error of a missing extra."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from siddhi._version import __version__

APP = "define stream S (v long); from S[v >= 0L] select v insert into O;"
SIDDHI = [sys.executable, "-m", "siddhi.cli"]
SECONDS = 120


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.siddhi").write_text(APP, encoding="utf-8")
    return tmp_path


def test_version(folder: Path) -> None:
    result = subprocess.run([*SIDDHI, "--version"], capture_output=True, text=True, check=True, timeout=SECONDS)
    assert result.stdout == f"siddhi, version {__version__}\n"


def test_help_names_the_commands(folder: Path) -> None:
    result = subprocess.run([*SIDDHI, "-h"], capture_output=True, text=True, check=True, timeout=SECONDS)
    assert all(word in result.stdout for word in ("run", "check", "explain"))


def test_importing_siddhi_does_not_import_the_command_line() -> None:
    code = "import siddhi, sys; print(sorted({'click', 'rich', 'pyarrow', 'siddhi.cli'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=SECONDS)
    assert result.stdout == "[]\n"


@pytest.mark.parametrize("name", ["click", "rich", "pyarrow"])
def test_a_missing_extra_is_an_error_of_one_line(name: str) -> None:
    code = f"import sys; sys.modules[{name!r}] = None; from siddhi.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=SECONDS)
    assert result.returncode == 2
    assert result.stderr == f"siddhi: package '{name}' is not installed; run: pip install 'siddhi[cli]'\n"


def test_a_closed_pipe_ends_the_run_without_an_error(folder: Path) -> None:
    (folder / "in.csv").write_text("v\n" + "1\n" * 2_000_000, encoding="utf-8")
    process = subprocess.Popen(
        [*SIDDHI, "run", "app.siddhi", "--input", "S=in.csv", "--output", "O=-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == b'{"v":1}\n'
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(SECONDS) == 0
    assert "Traceback" not in said
    assert "Exception" not in said
    assert "S: 2,000,000 events in" not in said


@pytest.mark.skipif(os.name == "nt", reason="signals are sent differently there")
def test_ctrl_c_during_a_wait_for_input_ends_with_the_events_so_far(folder: Path) -> None:
    process = subprocess.Popen(
        [*SIDDHI, "run", "app.siddhi", "--input", "S=-", "--output", "O=-", "--output", "S=out.csv"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b'{"v":7}\n')
    process.stdin.flush()
    assert json.loads(process.stdout.readline()) == {"v": 7}  # a live line is not held back
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert said.decode().startswith("interrupted\nS: 1 events in\n")
    assert (folder / "out.csv").read_text(encoding="utf-8") == "v\n7\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe with a name")
def test_ctrl_c_during_a_run_ends_between_two_batches(folder: Path) -> None:
    os.mkfifo(folder / "in.csv")
    process = subprocess.Popen(
        [*SIDDHI, "run", "app.siddhi", "--input", "S=in.csv", "--output", "O=out.csv"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    lines = b"1\n" * 10_000
    with suppress(BrokenPipeError), (folder / "in.csv").open("wb", buffering=0) as pipe:
        pipe.write(b"v\n")
        for number in itertools.count():
            pipe.write(lines)
            if number == 50:
                process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    sent, written = (int(line.split()[1].replace(",", "")) for line in said.splitlines()[1:3])
    assert sent == written == (folder / "out.csv").read_text(encoding="utf-8").count("1\n") > 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe with a name")
def test_ctrl_c_before_the_first_event_is_an_interruption(folder: Path) -> None:
    os.mkfifo(folder / "in.csv")
    # Where the parent ignores the signal, as shells do for what they start in the background, Python starts deaf.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from siddhi.cli import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "run", "app.siddhi", "--input", "S=in.csv"],
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    with (folder / "in.csv").open("wb"):  # opened on both ends: the command waits for the header
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=SECONDS)
    assert said == "interrupted\n"
    assert process.returncode == 130


@pytest.mark.skipif(os.name == "nt", reason="needs a shell")
@pytest.mark.parametrize(
    ("command", "output", "code"),
    [
        ("run app.siddhi -q --input S=in.csv --output O=- >&-", "", 0),
        ("run app.siddhi --input S=in.csv --output O=- 2>&-", '{"v":7}\n', 0),
        ("run app.siddhi -q --input S=- --output O=- <&-", "", 0),
        ("explain app.siddhi >&-", "", 0),
        ("check app.siddhi <&- >&- 2>&-", "", 0),
    ],
)
def test_standard_streams_may_be_closed(folder: Path, command: str, output: str, code: int) -> None:
    (folder / "in.csv").write_text("v\n7\n", encoding="utf-8")
    line = f"{shlex.join(SIDDHI)} {command}"
    result = subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, cwd=folder, check=False, timeout=SECONDS
    )
    assert (result.stdout, result.stderr, result.returncode) == (output, "", code)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
@pytest.mark.parametrize(
    "command", ["explain app.siddhi", "check app.siddhi", "--help", "run -q app.siddhi --input S=in.csv --output O=-"]
)
def test_a_full_disk_is_an_error_with_the_file(folder: Path, command: str) -> None:
    (folder / "in.csv").write_text("v\n7\n", encoding="utf-8")
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        result = subprocess.run(
            [*SIDDHI, *command.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            check=False,
            timeout=SECONDS,
        )
    assert result.stderr == "Error: cannot write standard output: No space left on device\n"
    assert result.returncode == 4


def test_the_console_script_is_declared() -> None:
    lines = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    assert 'siddhi = "siddhi.cli:main"' in lines


def test_progress_is_shown_on_terminals_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from siddhi.cli import progress

    class Half:
        total_bytes = 10
        done_bytes = 5

    monkeypatch.setattr(progress, "_AFTER_SECONDS", 0.0)
    silent = progress.ProgressBar([Half()], shown=True)  # standard error is not a terminal
    silent.update(1000)
    silent.close()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    bar = progress.ProgressBar([Half()], shown=True)
    bar.update(1000)
    bar.close()
    assert "1,000 events" in capsys.readouterr().err


def test_the_package_can_be_run_as_the_command():
    shown = subprocess.run(
        [sys.executable, "-m", "siddhi", "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert "check" in shown
