"""The standard input as a source: pipes, files and terminals, its end, one reader at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from siddhi import SandboxPolicy, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError, SiddhiRuntimeError
from siddhi.testing.connectors import SourceSuite
from tests.io.test_tcp import wait_for
from tests.kit.running import collect

APP = (
    "@source(type = 'stdin', {}@map(type = 'text', fail.on.missing.attribute = 'false', regex.A = '(.*)', "
    "@attributes(s = 'A[1]'))) define stream S (s string);"
)


class Pipe:
    """Takes the place of the standard input."""

    def __init__(self) -> None:
        reader, self._writer = os.pipe()
        os.dup2(reader, 0)
        os.close(reader)

    def write(self, content: bytes) -> None:
        while content:
            content = content[os.write(self._writer, content) :]

    def end(self) -> None:
        writer, self._writer = self._writer, -1
        if writer >= 0:
            os.close(writer)


@pytest.fixture
def replaced() -> Iterator[None]:
    """Allow a test to replace the standard input, which is restored afterwards."""
    kept = os.dup(0)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)


@pytest.fixture
def pipe(replaced: None) -> Iterator[Pipe]:
    made = Pipe()
    yield made
    made.end()


@pytest.fixture
def manager() -> Iterator[SiddhiManager]:
    with SiddhiManager() as made:
        yield made


def started(manager: SiddhiManager, options: str = "", name: str = "In") -> tuple[SiddhiAppRuntime, list[Any]]:
    runtime = manager.create_siddhi_app_runtime(f"@app:name('{name}') {APP.format(options)}")
    rows = collect(runtime, "S")
    runtime.start()
    return runtime, rows


def has_ended(runtime: SiddhiAppRuntime) -> bool:
    return runtime.sources["S"][0].has_ended


class TestSuite(SourceSuite):
    options = "type = 'stdin'"

    @pytest.fixture(autouse=True)
    def _input(self, pipe: Pipe) -> None:
        self.pipe = pipe

    def send(self, payloads: Sequence[str | bytes]) -> None:
        for payload in payloads:
            self.pipe.write((payload.encode() if isinstance(payload, str) else payload) + b"\n")


def test_the_end_of_a_pipe_ends_the_source(manager: SiddhiManager, pipe: Pipe) -> None:
    runtime, rows = started(manager, "header.present = 'true', ")
    pipe.write(b"name\r\n1\n\n 2 \r\nha")
    wait_for(lambda: len(rows) == 2)
    assert not has_ended(runtime)
    pipe.write(b"lf")
    pipe.end()
    wait_for(lambda: has_ended(runtime))
    assert rows == [("1",), (" 2 ",), ("half",)]
    assert runtime.connectors()[0].connected


def test_a_file_is_read_to_its_end(manager: SiddhiManager, replaced: None, tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("".join(f"{number}\n" for number in range(5_000)), encoding="utf-8")
    with path.open("rb") as file:
        os.dup2(file.fileno(), 0)
    runtime, rows = started(manager)
    wait_for(lambda: has_ended(runtime))
    assert rows == [(str(number),) for number in range(5_000)]


def test_a_terminal_is_read_until_its_end(manager: SiddhiManager, replaced: None) -> None:
    pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")
    terminal, other = pty.openpty()
    try:
        os.dup2(other, 0)
        os.close(other)
        runtime, rows = started(manager)
        os.write(terminal, b"1\n2\n")
        wait_for(lambda: len(rows) == 2)
        os.write(terminal, b"\x04")
        wait_for(lambda: has_ended(runtime))
        runtime.shutdown()
        again, _ = started(manager, name="Again")
        assert not has_ended(again)
        again.shutdown()  # without waiting for a line
    finally:
        os.close(terminal)


def test_lines_that_were_not_accepted_are_left_to_the_next_app(manager: SiddhiManager, pipe: Pipe) -> None:
    runtime, rows = started(manager, "buffer.payloads = '2', header.present = 'true', ")
    (source,) = runtime.sources["S"]
    source.pause()
    pipe.write(b"name\n" + b"".join(b"%d\n" % number for number in range(10)) + b"la")
    wait_for(lambda: source.waiting == 2)
    source.resume()
    runtime.shutdown()
    first = len(rows)
    again, more = started(manager, "header.present = 'true', ", name="Again")
    pipe.write(b"st\n")
    pipe.end()
    wait_for(lambda: has_ended(again))
    assert first >= 2
    assert rows + more == [*((str(number),) for number in range(10)), ("last",)]


def test_one_app_at_a_time_reads_it(manager: SiddhiManager, pipe: Pipe) -> None:
    first, rows = started(manager)
    with pytest.raises(SiddhiRuntimeError, match="is read by app 'In', stream 'S'"):
        started(manager, name="Other")
    first.shutdown()
    _, rows = started(manager, name="Third")
    pipe.write(b"1\n")
    wait_for(lambda: rows == [("1",)])


def test_a_closed_input_is_reported(
    manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    runtime, _ = started(manager)
    runtime.shutdown()
    assert "the standard input is closed" in caplog.text


def test_a_line_that_is_too_long_is_left_out(
    manager: SiddhiManager, pipe: Pipe, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("siddhi.io.sources.stdin.LARGEST_LINE", 10)
    _, rows = started(manager)
    pipe.write(b"1\n" + 30 * b"x")
    wait_for(lambda: "a line of more than 10 bytes" in caplog.text)
    pipe.write(b"xx\n2\n")
    wait_for(lambda: len(rows) == 2)
    assert rows == [("1",), ("2",)]


def test_transport_properties_are_refused(manager: SiddhiManager) -> None:
    text = "@source(type = 'stdin', @map(type = 'json', @attributes(s = 'trp:name'))) define stream S (s string);"
    with pytest.raises(SiddhiAppError, match="no transport property 'name'"):
        manager.create_siddhi_app_runtime(text)


def test_a_sandbox_refuses_it_unless_it_is_allowed() -> None:
    text = APP.format("")
    with pytest.raises(SiddhiAppError) as caught:
        SiddhiManager(policy=SandboxPolicy(sources={"file": ("*",)})).validate_siddhi_app(text)
    assert caught.value.code == "E340"
    SiddhiManager(policy=SandboxPolicy(sources={"stdin": ("*",)})).validate_siddhi_app(text)
